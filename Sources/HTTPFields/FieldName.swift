/// Rules that follow from the name of a header field.
package enum FieldName {
  /// The fields that are not lists, as far as Ferry reads them or clients look them up in a response (RFC 9110 §18.4, RFC 6266, RFC
  /// 9530).
  private static let single = CaselessNames([
    "Age", "Authorization", "Content-Disposition", "Content-Length", "Content-Location", "Content-MD5",
    "Content-Range", "Content-Type", "Date", "ETag", "Expires", "From", "Host", "If-Modified-Since",
    "If-Range", "If-Unmodified-Since", "Last-Modified", "Location", "Max-Forwards", "Proxy-Authorization",
    "Range", "Referer", "Retry-After", "Server", "Upload-Complete", "Upload-Draft-Interop-Version",
    "Upload-Incomplete", "Upload-Offset", "User-Agent",
  ])

  /// Whether the field has a single value. Several values must not be joined with a comma (RFC 9110 §5.3).
  package static func isSingle(_ name: String) -> Bool { single.contains(name) }

  /// Whether a byte is a letter, a digit or one of ``!#$%&'*+-.^_`|~``.
  package static func isTokenByte(_ byte: UInt8) -> Bool {
    // One bit per ASCII character, so that a lookup is a shift and not a switch over ranges.
    let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : byte < 128 ? 0x57FF_FFFF_C7FF_FFFE : 0
    return bits >> UInt64(byte & 63) & 1 != 0
  }

  /// Whether the field describes the content of its message. A request that loses its content loses these fields too (RFC 9110 §8 and
  /// §15.4, RFC 9530).
  package static func describesContent(_ name: String) -> Bool {
    let prefix = "Content-"
    guard name.utf8.count > prefix.utf8.count, HTTPHeaders.equal(String(name.prefix(prefix.count)), prefix)
    else {
      return ["Digest", "Repr-Digest", "Last-Modified"].contains { HTTPHeaders.equal($0, name) }
    }
    return true
  }
}

/// A set of field names, grouped by length.
package struct CaselessNames: Sendable {
  /// The names in lower case, by length.
  private var byLength: [[[UInt8]]] = []

  package init(_ names: [String]) {
    for name in names {
      let bytes = name.utf8.map(HTTPHeaders.lowercase)
      while byLength.count <= bytes.count { byLength.append([]) }
      byLength[bytes.count].append(bytes)
    }
  }

  package func contains(_ name: String) -> Bool {
    let bytes = name.utf8Span.span
    guard bytes.count < byLength.count else { return false }
    for known in byLength[bytes.count] where Self.isEqual(bytes, known.span) { return true }
    return false
  }

  private static func isEqual(_ name: borrowing Span<UInt8>, _ known: borrowing Span<UInt8>) -> Bool {
    for place in known.indices where HTTPHeaders.lowercase(name[place]) != known[place] { return false }
    return true
  }
}
