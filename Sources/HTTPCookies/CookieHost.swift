internal import Addresses

/// A host as cookies compare it (RFC 6265bis §5.1.2): its name in lower case and without the root's dot, or its address in
/// one spelling and without brackets.
package struct CookieHost: Sendable, Hashable {
  package let name: String
  /// An address, or something that ends like one: it has neither subdomains nor a registry.
  package let isAddress: Bool

  /// nil where the text is no host. Names beyond ASCII are expected as A-labels.
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

  /// Requests go there: not what ends in a number and is no address (`127.1`), which they write in another way.
  var isReachable: Bool { !isAddress || IPAddress(name) != nil }

  /// What registered it: two hosts of one site share this. A public suffix or an address is a site of its own.
  package var site: String { registrableDomain ?? name }

  package var registrableDomain: String? { isAddress ? nil : PublicSuffixList.registrableDomain(of: name) }

  /// RFC 6265bis §5.1.3.
  package func domainMatches(_ domain: String) -> Bool {
    isAddress ? name == domain : Self.isSameOrBelow(name, domain)
  }

  /// Domain-match of names.
  static func isSameOrBelow(_ name: String, _ domain: String) -> Bool {
    let (name, domain) = (name.utf8Span.span, domain.utf8Span.span)
    let start = name.count - domain.count
    guard start >= 0, start == 0 || !domain.isEmpty && name[start - 1] == UInt8(ascii: ".") else {
      return false
    }
    for place in domain.indices where name[start + place] != domain[place] { return false }
    return true
  }

  /// Labels of letters, digits and hyphens (RFC 5890 §2.3.1), and of underscores, which hosts inside of networks have.
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

  /// `127.1` and the like are read as addresses by some: nothing is derived from their parts.
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
  /// RFC 5952 §4: lower case, the longest run of zeros left out.
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
