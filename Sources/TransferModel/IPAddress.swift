/// An IPv4 or IPv6 address as it stands in a socket address.
package enum IPAddress: Sendable, Hashable {
  case v4(UInt32)
  case v6(high: UInt64, low: UInt64)

  /// The IPv4 address inside `::ffff:0:0/96` as what it is; any other address itself (RFC 4291 §2.5.5.2).
  package var unmapped: IPAddress {
    guard case .v6(0, let low) = self, low >> 32 == 0xFFFF else { return self }
    return .v4(UInt32(truncatingIfNeeded: low))
  }

  /// The IPv4 address that a translator would make of this one: NAT64, 6to4, IPv4-compatible, ISATAP.
  package var embedded: IPAddress? {
    guard case .v6(let high, let low) = self else { return nil }
    let tail = UInt32(truncatingIfNeeded: low)
    switch high {
    case 0 where low >> 32 == 0 && low > 1: return .v4(tail)
    case 0x0064_FF9B_0000_0000 where low >> 32 == 0: return .v4(tail)
    case _ where high >> 16 == 0x0064_FF9B_0001: return .v4(tail)
    case _ where high >> 48 == 0x2002: return .v4(UInt32(truncatingIfNeeded: high >> 16))
    case _ where low >> 32 == 0x5EFE || low >> 32 == 0x0200_5EFE: return .v4(tail)
    default: return nil
    }
  }

  /// Parses dotted decimal or RFC 4291 text, without brackets or zone.
  package init?(_ text: String) {
    if text.contains(":") {
      guard let words = Self.words(text) else { return nil }
      let value = words.map(UInt64.init)
      self = .v6(
        high: value[0] << 48 | value[1] << 32 | value[2] << 16 | value[3],
        low: value[4] << 48 | value[5] << 32 | value[6] << 16 | value[7])
    } else {
      guard let value = Self.dotted(text) else { return nil }
      self = .v4(value)
    }
  }

  private static func dotted(_ text: some StringProtocol) -> UInt32? {
    let parts = text.parts(between: ".", omittingEmpty: false)
    guard parts.count == 4 else { return nil }
    var value: UInt32 = 0
    for part in parts {
      guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ $0 &- 48 < 10 }), let byte = UInt8(part)
      else { return nil }
      value = value << 8 | UInt32(byte)
    }
    return value
  }

  private static func words(_ text: String) -> [UInt16]? {
    var halves: [[UInt16]] = []
    let sides = text.split(separator: "::", maxSplits: 2, omittingEmptySubsequences: false)
    guard sides.count <= 2 else { return nil }
    for (sideIndex, side) in sides.enumerated() {
      guard !side.isEmpty else {
        halves.append([])
        continue
      }
      var half: [UInt16] = []
      let groups = side.split(separator: ":", omittingEmptySubsequences: false)
      for (index, group) in groups.enumerated() {
        if group.contains(".") {
          guard sideIndex == sides.count - 1, index == groups.count - 1, let value = dotted(group) else {
            return nil
          }
          half += [UInt16(value >> 16), UInt16(truncatingIfNeeded: value)]
        } else {
          guard (1...4).contains(group.utf8.count), group.allSatisfy(\.isHexDigit),
            let word = UInt16(group, radix: 16)
          else { return nil }
          half.append(word)
        }
      }
      halves.append(half)
    }
    let count = halves.reduce(0) { $0 + $1.count }
    if sides.count == 1 { return count == 8 ? halves[0] : nil }
    guard count < 8 else { return nil }
    return halves[0] + [UInt16](repeating: 0, count: 8 - count) + halves[1]
  }
}

extension IPAddress: CustomStringConvertible {
  package var description: String {
    switch self {
    case .v4(let value):
      let bytes: [UInt32] = [value >> 24, value >> 16, value >> 8, value]
      return bytes.map { String($0 & 255) }.joined(separator: ".")
    case .v6(let high, let low):
      let words: [UInt64] = [high, low].flatMap { word in [word >> 48, word >> 32, word >> 16, word] }
      return words.map { String($0 & 0xFFFF, radix: 16) }.joined(separator: ":")
    }
  }
}

/// A block of addresses in CIDR notation (RFC 4632, RFC 4291 §2.3).
package struct IPNetwork: Sendable, Hashable {
  package let base: IPAddress
  package let prefixLength: Int

  /// Parses `10.0.0.0/8`, `fd00::/8`, or an address alone; nil where bits lie beyond the prefix.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let base = IPAddress(String(parts[0])) else { return nil }
    let width = if case .v4 = base { 32 } else { 128 }
    var length = width
    if parts.count == 2 {
      guard let value = Int(parts[1]), (0...width).contains(value),
        parts[1].utf8.allSatisfy({ $0 &- 48 < 10 })
      else { return nil }
      length = value
    }
    self.init(base, length)
    guard contains(base), Self.masked(base, length) == base else { return nil }
  }

  /// The network of that size that the address is in; nil where there is no such size.
  package init?(around address: IPAddress, prefixLength: Int) {
    let width = if case .v4 = address { 32 } else { 128 }
    guard (0...width).contains(prefixLength) else { return nil }
    self.init(Self.masked(address, prefixLength), prefixLength)
  }

  init(_ base: IPAddress, _ prefixLength: Int) {
    self.base = base
    self.prefixLength = prefixLength
  }

  package func contains(_ address: IPAddress) -> Bool {
    switch (base, address) {
    case (.v4, .v4), (.v6, .v6): Self.masked(address, prefixLength) == Self.masked(base, prefixLength)
    default: false
    }
  }

  private static func masked(_ address: IPAddress, _ length: Int) -> IPAddress {
    switch address {
    case .v4(let value): .v4(length == 0 ? 0 : value & (UInt32.max << UInt32(32 - length)))
    case .v6(let high, let low):
      .v6(
        high: length == 0 ? 0 : length >= 64 ? high : high & (UInt64.max << UInt64(64 - length)),
        low: length <= 64 ? 0 : length == 128 ? low : low & (UInt64.max << UInt64(128 - length)))
    }
  }
}
