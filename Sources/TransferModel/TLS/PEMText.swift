internal import JSON
internal import Limits

extension ObjectReader {
  /// Reads a member with PEM certificates (RFC 7468). Their number and sizes are checked before they are parsed.
  /// - Parameter most: the limit of their number.
  mutating func certificates(_ name: String, upTo most: Limit, bytes: Int = .max) -> String? {
    guard let text = string(name, upTo: bytes) else { return nil }
    let sizes = PEMText.sizes(text)
    guard sizes.count <= most.value else {
      exceed(name, "must have at most \(most.value) certificates, not \(sizes.count)")
      return nil
    }
    if let size = sizes.max(), size > Limits.certificateBytes.value {
      exceed(
        name, "must have at most \(Limits.certificateBytes.value) bytes in each certificate, not \(size)")
      return nil
    }
    return text
  }
}

/// Text in PEM.
package enum PEMText {
  /// Returns the size of each PEM block in bytes, from its `-----BEGIN ` to the next one or to the end of the text.
  package static func sizes(_ text: String) -> [Int] {
    let (bytes, begin) = (text.utf8Span.span, Array("-----BEGIN ".utf8))
    var starts: [Int] = []
    var matched = 0
    for offset in bytes.indices {
      let byte = bytes[offset]
      // After a mismatch, only hyphens already read can belong to the next match.
      matched = byte == begin[matched] ? matched + 1 : byte == begin[0] ? (matched == 5 ? 5 : 1) : 0
      if matched == begin.count {
        starts.append(offset + 1 - begin.count)
        matched = 0
      }
    }
    return zip(starts, starts.dropFirst() + [bytes.count]).map { $1 - $0 }
  }
}
