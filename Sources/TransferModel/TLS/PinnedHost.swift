internal import Addresses
internal import JSON
internal import Limits

/// The keys that a host's certificate chain must have one of (Apple's NSPinnedDomains; RFC 7469 §2.4 for the digest).
package struct PinnedHost: Sendable, Equatable {
  /// A host's name in ASCII, or `*.` and a domain: every host in it; or an address. In lower case.
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
          "must be a host, *. and a domain, or an address without brackets; international names as xn--")
      }
      let elements = member.value.elements ?? []
      guard elements.count <= Limits.pinnedKeys.value else {
        violations.exceed(place, "must have at most \(Limits.pinnedKeys.value) pins, not \(elements.count)")
        return PinnedHost(pattern: member.name, keys: [])
      }
      let keys = elements.map { $0.string.flatMap(key(of:)) }
      if keys.isEmpty { violations.add(place, "must be an array of pins, one at least") }
      for (index, key) in keys.enumerated() where key == nil {
        violations.add("\(place)/\(index)", "must be sha256/ and the base64 of 32 bytes (RFC 7469)")
      }
      return PinnedHost(pattern: member.name, keys: keys.compactMap { $0 })
    }
  }

  /// Any other would never cover a host, and pin nothing.
  private static func isPattern(_ text: String) -> Bool {
    guard IPAddress(text) == nil else { return true }
    let labels = (text.hasPrefix("*.") ? text.dropFirst(2) : Substring(text))
      .split(separator: ".", omittingEmptySubsequences: false)
    // What ends in a number is an address to libcurl, and was none.
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

  /// The digest that `sha256/` and base64 name; nil where they name none.
  package static func key(of text: String) -> [UInt8]? {
    guard text.hasPrefix("sha256/") else { return nil }
    // libcurl writes another slash before the 44 letters, of which the first may be one, too.
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
