internal import JSON

/// An IPv4 or IPv6 address.
package enum IPAddress: Sendable, Hashable {
  case v4(UInt32)
  case v6(high: UInt64, low: UInt64)

  /// The IPv4 address of an IPv4-mapped address (RFC 4291 §2.5.5.2); any other address unchanged.
  package var unmapped: IPAddress {
    guard case .v6(0, let low) = self, low >> 32 == 0xFFFF else { return self }
    return .v4(UInt32(truncatingIfNeeded: low))
  }

  /// The IPv4 address that a translator would derive from this one: NAT64, 6to4, IPv4-compatible, ISATAP.
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

  /// The length of the longest text of an address: six groups and an IPv4 address.
  private static let longest = 45

  /// Parses dotted decimal or RFC 4291 text, without brackets or zone.
  package init?(_ text: String) {
    guard text.utf8.count <= Self.longest else { return nil }
    self.init(text.utf8Span.span)
  }

  /// Parses dotted decimal or RFC 4291 text from its bytes.
  package init?(_ bytes: borrowing Span<UInt8>) {
    guard bytes.count <= Self.longest else { return nil }
    if Self.end(of: bytes, from: 0, at: UInt8(ascii: ":")) < bytes.count {
      guard let value = Self.groups(bytes) else { return nil }
      self = .v6(high: UInt64(value >> 64), low: UInt64(truncatingIfNeeded: value))
    } else {
      guard let value = Self.dotted(bytes) else { return nil }
      self = .v4(value)
    }
  }

  /// Returns the index of the next separator, or the number of bytes.
  package static func end(of text: borrowing Span<UInt8>, from start: Int, at separator: UInt8) -> Int {
    var place = start
    while place < text.count, text[place] != separator { place += 1 }
    return place
  }

  /// Parses four numbers of one to three digits.
  private static func dotted(_ text: borrowing Span<UInt8>) -> UInt32? {
    var (value, part, digits, parts): (UInt32, UInt32, Int, Int) = (0, 0, 0, 1)
    for place in text.indices {
      let byte = text[place]
      if byte == UInt8(ascii: "."), digits > 0, parts < 4 {
        value = value << 8 | part
        (part, digits, parts) = (0, 0, parts + 1)
      } else {
        guard byte &- UInt8(ascii: "0") < 10, digits < 3 else { return nil }
        part = part * 10 + UInt32(byte - UInt8(ascii: "0"))
        digits += 1
        guard part < 256 else { return nil }
      }
    }
    return parts == 4 && digits > 0 ? value << 8 | part : nil
  }

  /// Parses eight groups; `::` replaces one or more zero groups.
  private static func groups(_ text: borrowing Span<UInt8>) -> UInt128? {
    let colon = UInt8(ascii: ":")
    // The groups after `::`; all groups if there is none. `head` has the groups before it.
    var (value, count): (UInt128, Int) = (0, 0)
    var (head, headCount): (UInt128, Int?) = (0, nil)
    var index = 0
    if text.count > 1, text[index] == colon, text[index + 1] == colon { (headCount, index) = (0, index + 2) }
    while index < text.count {
      let end = end(of: text, from: index, at: colon)
      let group = text.extracting(index..<end)
      if let word = word(group) {
        (value, count) = (value << 16 | UInt128(word), count + 1)
      } else {
        guard end == text.count, let tail = dotted(group) else { return nil }
        (value, count) = (value << 32 | UInt128(tail), count + 2)
      }
      guard count <= 8 else { return nil }
      index = end + 1
      guard end < text.count else { break }
      guard index < text.count else { return nil }
      guard text[index] == colon else { continue }
      guard headCount == nil else { return nil }
      (head, headCount) = (value, count)
      (value, count) = (0, 0)
      index += 1
    }
    guard let headCount else { return count == 8 ? value : nil }
    guard headCount + count < 8 else { return nil }
    return head << UInt128(16 * (8 - headCount)) | value
  }

  /// Parses one to four hexadecimal digits.
  private static func word(_ text: borrowing Span<UInt8>) -> UInt16? {
    guard (1...4).contains(text.count) else { return nil }
    var word: UInt16 = 0
    for place in text.indices {
      guard let digit = hexValue(of: text[place]) else { return nil }
      word = word << 4 | UInt16(digit)
    }
    return word
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

  /// Parses `10.0.0.0/8`, `fd00::/8`, or a single address; `nil` if bits beyond the prefix are set.
  package init?(_ text: String) { self.init(text.utf8Span.span) }

  /// Parses a network from the bytes of its text.
  package init?(_ text: borrowing Span<UInt8>) {
    let slash = IPAddress.end(of: text, from: 0, at: UInt8(ascii: "/"))
    guard let base = IPAddress(text.extracting(..<slash)) else { return nil }
    let width = if case .v4 = base { 32 } else { 128 }
    var length = width
    if slash < text.count {
      guard let number = DecimalDigits.value(text.extracting((slash + 1)...), most: width) else { return nil }
      length = number
    }
    self.init(base, length)
    guard Self.masked(base, length) == base else { return nil }
  }

  /// Makes the network of that prefix length that contains the address; `nil` for an invalid length.
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
