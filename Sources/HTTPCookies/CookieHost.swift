internal import Addresses

/// A host in the form that cookies compare (RFC 6265bis §5.1.2): a lower-case name without the root's dot, or an address in canonical
/// form without brackets.
package struct CookieHost: Sendable, Hashable {
  package let name: String
  /// Whether the host is an address, or a name that ends like one. Such a host has no subdomains and no registrable domain.
  package let isAddress: Bool

  /// Parses a host; `nil` if the text is invalid. Names beyond ASCII must be A-labels.
  package init?(_ text: String) {
    var bytes = text.utf8[...]
    if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") {
      bytes = bytes.dropFirst().dropLast()
      guard bytes.contains(UInt8(ascii: ":")) else { return nil }
    }
    if bytes.last == UInt8(ascii: ".") { bytes = bytes.dropLast() }
    let lowercase = CookieText.lowercased(bytes)
    if let address = IPAddress(lowercase) {
      name = address.canonicalText
      isAddress = true
      return
    }
    guard Self.isName(lowercase) else { return nil }
    name = lowercase
    isAddress = Self.endsInNumber(lowercase)
  }

  /// Whether requests can use this form. A name that ends in a number but is no address (`127.1`) has another form in requests.
  var isReachable: Bool { !isAddress || IPAddress(name) != nil }

  /// The registrable domain, which all hosts of a site share. A public suffix or an address is a site of its own.
  package var site: String { registrableDomain ?? name }

  package var registrableDomain: String? { isAddress ? nil : PublicSuffixList.registrableDomain(of: name) }

  /// Whether the host domain-matches `domain` (RFC 6265bis §5.1.3).
  package func domainMatches(_ domain: String) -> Bool {
    isAddress ? name == domain : Self.isSameOrBelow(name, domain)
  }

  /// Whether a name equals a domain or is a subdomain of it.
  static func isSameOrBelow(_ name: String, _ domain: String) -> Bool {
    let (name, domain) = (name.utf8Span.span, domain.utf8Span.span)
    let start = name.count - domain.count
    guard start >= 0, start == 0 || !domain.isEmpty && name[start - 1] == UInt8(ascii: ".") else {
      return false
    }
    for place in domain.indices where name[start + place] != domain[place] { return false }
    return true
  }

  /// Whether the labels have only letters, digits, hyphens (RFC 5890 §2.3.1) and underscores, which internal hosts use.
  private static func isName(_ text: String) -> Bool {
    guard text.utf8.count <= 253 else { return false }
    return text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy {
      label in
      (1...63).contains(label.count)
        && label.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
          default: false
          }
        }
    }
  }

  /// Whether the last label is a number. Some programs read `127.1` and the like as addresses, so such a name has no parent domain.
  private static func endsInNumber(_ text: String) -> Bool {
    let last = text.utf8.split(separator: UInt8(ascii: ".")).last ?? []
    let digits = last.starts(with: "0x".utf8) ? last.dropFirst(2) : last
    let isHexadecimal = digits.count < last.count
    return digits.allSatisfy {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || isHexadecimal && (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
    }
  }
}

extension IPAddress {
  /// The text form of RFC 5952 §4: lower case, with the longest run of zeros omitted.
  fileprivate var canonicalText: String {
    guard case .v6(let high, let low) = self else { return description }
    let words = [high, low].flatMap { half in [48, 32, 16, 0].map { half >> UInt64($0) & 0xFFFF } }
    var best = 0..<0
    var start = 0
    for end in 1...8 where end == 8 || (words[end] == 0) != (words[start] == 0) {
      if words[start] == 0, end - start > max(best.count, 1) { best = start..<end }
      start = end
    }
    func text(_ words: ArraySlice<UInt64>) -> String {
      words.map { String($0, radix: 16) }.joined(separator: ":")
    }
    return best.isEmpty
      ? text(words[...]) : text(words[..<best.lowerBound]) + "::" + text(words[best.upperBound...])
  }
}
