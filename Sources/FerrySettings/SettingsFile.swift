internal import Configuration
internal import JSON

/// A JSON object of settings, by their option names or in camel case. Unknown members and wrong types are errors.
struct SettingsFile: FileConfigSnapshot {
  struct ParsingOptions: FileParsingOptions {
    /// The name of the file in messages.
    var path = ""
    static let `default` = Self()
  }

  let providerName: String
  private let texts: [String: String]

  init(data: RawSpan, providerName: String, parsingOptions: ParsingOptions) throws {
    let bytes = data.withUnsafeBytes { [UInt8]($0) }
    self.providerName = providerName
    texts = try Self.read(bytes, path: parsingOptions.path)
  }

  func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
    let name = key.components.last ?? ""
    let isSecret = SettingsCatalogue.named(name)?.traits.contains(.secret) ?? true
    let value = texts[name].map { ConfigValue(.string($0), isSecret: isSecret) }
    return LookupResult(encodedKey: name, value: value)
  }

  var description: String { "\(providerName)[\(texts.count) values]" }
  /// Omits the values, because some are secret.
  var debugDescription: String { "\(providerName)\(texts.keys.sorted())" }

  /// Returns the texts by setting name, in the form of the environment.
  static func read(_ bytes: [UInt8], path: String) throws(SettingsError) -> [String: String] {
    let value: JSONValue
    do throws(JSONSyntaxError) { value = try JSONParser.parse(bytes) } catch {
      let place = Self.place(of: error.offset, in: bytes)
      throw SettingsError(
        \.config, "\(path), line \(place.line), column \(place.column): \(error.reason)")
    }
    guard let members = value.members else {
      throw SettingsError(\.config, "\(path) contains \(value.kind); it must contain an object of settings")
    }
    var texts: [String: String] = [:]
    for member in members {
      let name = member.name.map { $0.isUppercase ? "-" + $0.lowercased() : String($0) }.joined()
      guard let setting = SettingsCatalogue.named(name), setting.places.contains(.file) else {
        let known = SettingsCatalogue.all.filter { $0.places.contains(.file) }
        let hint = SpellingSuggestion.hint(member.name, among: known.flatMap { [$0.member, $0.name] })
        throw SettingsError(
          \.config, "'\(member.name)' in \(path) is not a setting\(hint)")
      }
      guard texts[name] == nil else {
        throw SettingsError(
          \.config, "\(path) gives '\(member.name)' twice, in two spellings; remove one of them")
      }
      guard let text = setting.form.text(of: member.value) else {
        throw SettingsError(
          \.config, "'\(member.name)' in \(path) must be \(setting.form.jsonKind), not \(member.value.kind)")
      }
      texts[name] = text
    }
    return texts
  }

  /// Returns the position of a fault, from 1 on. Columns count Unicode characters.
  static func place(of offset: Int, in bytes: [UInt8]) -> (line: Int, column: Int) {
    let before = bytes.prefix(offset)
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    // Bytes 10xxxxxx continue a character.
    return (line, before[start...].count { $0 & 0xC0 != 0x80 } + 1)
  }
}

extension SettingFormat {
  /// Returns a value of the file in the form of the environment; `nil` for a wrong type.
  fileprivate func text(of value: JSONValue) -> String? {
    if let text = value.string { return text }
    switch self {
    case .list(_, _, let joint):
      let texts = value.elements?.map(\.string) ?? [nil]
      return texts.contains(nil) ? nil : texts.compactMap(\.self).joined(separator: String(joint))
    case .integer, .decimal:
      return value.integer.map { String($0) } ?? value.double.flatMap { $0.isFinite ? String($0) : nil }
    case .flag: return value.bool.map { String($0) }
    case .address, .directory, .file, .choice, .mode: return nil
    }
  }

  fileprivate var jsonKind: String {
    switch self {
    case .integer, .decimal: "a number"
    case .flag: "true or false"
    case .list: "an array of strings, or a string"
    case .address, .directory, .file, .choice, .mode: "a string"
    }
  }
}
