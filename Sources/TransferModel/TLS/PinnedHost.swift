internal import Addresses
internal import JSON
internal import Limits

/// The pinned keys of a host, one of which must be in its certificate chain (Apple's NSPinnedDomains; RFC 7469 §2.4 for the digest).
package struct PinnedHost: Sendable, Equatable {
  /// In lower case: a host's name in ASCII, an address, or `*.` and a domain for every host in the domain.
  package let pattern: String
  /// SHA-256 of SubjectPublicKeyInfo, 32 bytes each.
  package let keys: [[UInt8]]

  package init(pattern: String, keys: [[UInt8]]) {
    self.pattern = pattern.lowercased()
    self.keys = keys
  }

  package func covers(_ host: String) -> Bool {
    if let address = IPAddress(pattern) { return IPAddress(host) == address }
    if pattern.hasPrefix("*.") { return host.hasSuffix(pattern.dropFirst()) }
    return pattern == host
  }

  /// Reads an object of hosts and arrays of `sha256/` with base64.
  static func read(_ value: JSONValue, at pointer: String, _ violations: Violations) -> [PinnedHost] {
    guard let members = value.members else {
      violations.add(pointer, "must be an object of hosts and arrays of pins, not \(value.kind)")
      return []
    }
    guard members.count <= Limits.pinnedHosts.value else {
      violations.exceed(pointer, "must have at most \(Limits.pinnedHosts.value) hosts, not \(members.count)")
      return []
    }
    return members.map { member in
      let place = JSONPointer.appending(member.name, to: pointer)
      if member.name.utf8.count > Limits.hostBytes.value || !isPattern(member.name) {
        violations.add(
          place,
          "must be a host, *. and a domain, or an address without brackets; write international names as xn--"
        )
      }
      let elements = member.value.elements ?? []
      guard elements.count <= Limits.pinnedKeys.value else {
        violations.exceed(place, "must have at most \(Limits.pinnedKeys.value) pins, not \(elements.count)")
        return PinnedHost(pattern: member.name, keys: [])
      }
      let keys = elements.map { $0.string.flatMap(key(of:)) }
      if keys.isEmpty { violations.add(place, "must be an array of at least one pin") }
      for (index, key) in keys.enumerated() where key == nil {
        violations.add("\(place)/\(index)", "must be sha256/ and the base64 of 32 bytes (RFC 7469)")
      }
      return PinnedHost(pattern: member.name, keys: keys.compactMap { $0 })
    }
  }

  /// Returns whether the pattern can match a host. Any other pattern would pin nothing.
  private static func isPattern(_ text: String) -> Bool {
    guard IPAddress(text) == nil else { return true }
    let labels = (text.hasPrefix("*.") ? text.dropFirst(2) : Substring(text))
      .split(separator: ".", omittingEmptySubsequences: false)
    // libcurl treats a name that ends in a number as an address, and this text is not a valid address.
    guard let last = labels.last, !last.utf8.allSatisfy({ (48...57).contains($0) }) else { return false }
    return labels.allSatisfy { (1...63).contains($0.utf8.count) && $0.utf8.allSatisfy(isNamed) }
  }

  private static func isNamed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"):
      true
    default: byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
  }

  /// Returns the digest of a pin, `sha256/` and base64; `nil` if the text is not a pin.
  package static func key(of text: String) -> [UInt8]? {
    guard text.hasPrefix("sha256/") else { return nil }
    // libcurl writes a second slash before the 44 letters. The first letter may also be a slash.
    let digits = text.utf8.dropFirst(7)
    let key = digits.count == 45 && digits.first == UInt8(ascii: "/") ? digits.dropFirst() : digits
    return Base64.decode(Substring(key)).flatMap { $0.count == 32 ? $0 : nil }
  }

  func encodeMember(into writer: inout JSONWriter) {
    writer.key(pattern)
    writer.array { writer in
      for key in keys {
        writer.element()
        writer.value("sha256/" + Base64.encode(key))
      }
    }
  }
}
