internal import Addresses
internal import TransferModel

extension Setting where Value == String {
  static func text(
    _ name: String, _ form: SettingFormat, initial: String, _ traits: SettingTraits = [], help: String
  ) -> Self {
    Self(name, form, initial: initial, defaultText: initial, traits, help: help) {
      text throws(SettingFault) in
      guard !text.isEmpty else {
        throw SettingFault("the value is empty; give one, or leave the setting out")
      }
      return text
    }
  }
}

extension Setting where Value == String? {
  static func path(
    _ name: String, withoutValue: String = "none", places: AllowedSources = .all,
    _ traits: SettingTraits = [],
    help: String
  ) -> Self {
    Self(
      name, .file, initial: nil, withoutValue: withoutValue, places: places, traits, help: help
    ) { text throws(SettingFault) in
      guard !text.isEmpty else {
        throw SettingFault("the value is empty; name a file, or leave the setting out")
      }
      return text
    }
  }
}

extension Setting where Value == Int {
  static func integer(
    _ name: String, _ range: ClosedRange<Int>, _ unit: SettingFormat.Unit? = nil, initial: Int,
    _ traits: SettingTraits = [], help: String
  ) -> Self {
    Self(
      name, .integer(range, unit), initial: initial, defaultText: String(initial), traits, help: help
    ) { text throws(SettingFault) in try SettingNumber.read(text, range, unit) }
  }
}

extension Setting where Value == Int? {
  static func optionalInteger(
    _ name: String, _ range: ClosedRange<Int>, _ unit: SettingFormat.Unit? = nil, withoutValue: String,
    help: String
  ) -> Self {
    Self(
      name, .integer(range, unit), initial: nil, withoutValue: withoutValue, help: help
    ) { text throws(SettingFault) in try SettingNumber.read(text, range, unit) }
  }
}

private enum SettingNumber {
  static func read(
    _ text: String, _ range: ClosedRange<Int>, _ unit: SettingFormat.Unit?
  ) throws(SettingFault) -> Int {
    guard let number = Int(text), range.contains(number) else {
      let kind = unit.map { "number of \($0.rawValue)" } ?? "number"
      guard range.upperBound < .max else {
        throw SettingFault("'\(text)' is not a \(kind), \(range.lowerBound) or more")
      }
      throw SettingFault("'\(text)' is not a \(kind) between \(range.lowerBound) and \(range.upperBound)")
    }
    return number
  }
}

extension Setting {
  /// Declares a setting with several values, whose option may be repeated.
  static func list(
    _ name: String, item: String, separators: String, initial: Value, withoutValue: String = "none",
    _ traits: SettingTraits = [], help: String,
    parse: @escaping @Sendable ([String]) throws(SettingFault) -> Value
  ) -> Self {
    let form = SettingFormat.list(item: item, separators: separators, joint: " ")
    return Self(
      name, form, initial: initial, withoutValue: withoutValue, traits, help: help
    ) { text throws(SettingFault) in try parse(form.parts(text)) }
  }

  static func list<Item>(
    _ name: String, item: String, separators: String, withoutValue: String = "none",
    _ traits: SettingTraits = [], help: String,
    parse: @escaping @Sendable ([String]) throws(SettingFault) -> [Item]
  ) -> Self where Value == [Item] {
    list(
      name, item: item, separators: separators, initial: [], withoutValue: withoutValue, traits, help: help,
      parse: parse)
  }
}

extension IPNetwork {
  static func all(_ texts: [String]) throws(SettingFault) -> [IPNetwork] {
    var networks: [IPNetwork] = []
    for text in texts {
      if let prefix = missingPrefix(text) {
        throw SettingFault(
          "'\(text)' has no prefix length; write \(text)/\(prefix), or another length"
        )
      }
      guard let network = IPNetwork(text) else {
        throw SettingFault("'\(text)' is not a network in CIDR notation; write it like 10.0.0.0/8")
      }
      networks.append(network)
    }
    return networks
  }

  /// Returns a suggested prefix length if the text is an address that ends in `.0` or `::`; `nil` for other texts.
  private static func missingPrefix(_ text: String) -> Int? {
    switch text.contains("/") ? nil : IPAddress(text) {
    case .v4(let value)? where value & 0xFF == 0: 32 - value.trailingZeroBitCount / 8 * 8
    case .v6(let high, 0)?: 64 - high.trailingZeroBitCount / 16 * 16
    case .v6(_, let low)? where text.hasSuffix("::"): 128 - low.trailingZeroBitCount / 16 * 16
    default: nil
    }
  }
}

extension DailyWindow {
  static func all(_ texts: [String]) throws(SettingFault) -> [DailyWindow] {
    var windows: [DailyWindow] = []
    for text in texts {
      do throws(DailyWindow.Fault) { windows.append(try DailyWindow(text)) } catch {
        throw SettingFault(error.message)
      }
    }
    return windows
  }
}

extension BearerToken {
  /// Parses tokens. Error messages never contain the text.
  /// - Parameters:
  ///   - separators: the characters between tokens. Empty parts are ignored.
  ///   - item: the word for a part of the text in messages.
  static func all(
    _ text: String, separators: String, item: String
  ) throws(SettingFault) -> [BearerToken] {
    var tokens: [BearerToken] = []
    let parts = text.split(omittingEmptySubsequences: false) { $0.isNewline || separators.contains($0) }
    for (index, part) in parts.enumerated() where !part.allSatisfy(\.isWhitespace) {
      guard let token = BearerToken(line: part) else {
        throw SettingFault(
          "\(item) \(index + 1) has too many words; write a token, optionally preceded by a tenant and a blank"
        )
      }
      guard tokens.allSatisfy({ $0.text != token.text || $0.tenant == token.tenant }) else {
        throw SettingFault(
          "\(item) \(index + 1) repeats the token of another tenant; give each tenant its own token")
      }
      tokens.append(token)
    }
    guard !tokens.isEmpty else {
      throw SettingFault("it contains no token; add one, or leave the setting out")
    }
    return tokens
  }
}
