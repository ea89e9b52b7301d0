/// One setting of the service. The option, the variable, the member of the file, the help and the documents are all derived from it.
package struct Setting<Value: Sendable>: AnySetting {
  package let name: String
  package let help: String
  package let form: SettingFormat
  package let defaultText: String?
  package let withoutValue: String
  package let places: AllowedSources
  package let traits: SettingTraits
  /// The default value.
  package let initial: Value
  private let parse: @Sendable (String) throws(SettingFault) -> Value

  /// Declares a setting.
  /// - Parameters:
  ///   - name: the name in kebab-case.
  ///   - help: one or two sentences.
  ///   - initial: the default value.
  ///   - defaultText: the text form of the default; `nil` if there is none.
  ///   - withoutValue: the meaning of the default if it has no text form.
  init(
    _ name: String, _ form: SettingFormat, initial: Value, defaultText: String? = nil,
    withoutValue: String = "none",
    places: AllowedSources = .all, _ traits: SettingTraits = [], help: String,
    parse: @escaping @Sendable (String) throws(SettingFault) -> Value
  ) {
    self.name = name
    self.help = help
    self.form = form
    self.defaultText = defaultText
    self.withoutValue = withoutValue
    self.places = places
    self.traits = traits
    self.initial = initial
    self.parse = parse
  }

  /// Returns the value that a text stands for.
  /// - Parameter text: the given text; `nil` for the default.
  func value(of text: String?) throws(SettingFault) -> Value {
    guard let text else { return initial }
    return try parse(text)
  }

  package func check(_ text: String?) throws(SettingFault) -> any Sendable { try value(of: text) }
}

/// The sources that may give a setting.
package struct AllowedSources: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  package static let commandLine = Self(rawValue: 1)
  package static let environment = Self(rawValue: 2)
  package static let file = Self(rawValue: 4)
  package static let all: Self = [.commandLine, .environment, .file]
}

package struct SettingTraits: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// The value must not be shown.
  package static let secret = Self(rawValue: 1)
  /// The worker needs the setting too.
  package static let forWorker = Self(rawValue: 2)
  /// Help and documents omit the setting.
  package static let hidden = Self(rawValue: 4)
}

/// A setting with a value of any type.
package protocol AnySetting: Sendable {
  /// The name in kebab-case.
  var name: String { get }
  var help: String { get }
  var form: SettingFormat { get }
  /// The text form of the default; `nil` if there is none.
  var defaultText: String? { get }
  /// The meaning of the default if it has no text form.
  var withoutValue: String { get }
  var places: AllowedSources { get }
  var traits: SettingTraits { get }
  /// Parses a text; returns the default if there is none.
  func check(_ text: String?) throws(SettingFault) -> any Sendable
}

extension AnySetting {
  package var option: String { "--" + name }
  package var variable: String { SettingVariables.prefix + name.uppercased().map { $0 == "-" ? "_" : $0 } }

  /// The name of the file's member in camel case. The file also accepts `name`.
  package var member: String {
    let words = name.split(separator: "-")
    return words.dropFirst().reduce(String(words[0])) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
  }

  package var shownDefault: String { defaultText.map { form.readable($0) } ?? withoutValue }
}
