/// One setting of the service. All that is said of it anywhere (option, variable, member of the file, help, documents) comes from here.
package struct Setting<Value: Sendable>: AnySetting {
  package let name: String
  package let help: String
  package let form: SettingForm
  package let defaultText: String?
  package let withoutValue: String
  package let places: SettingPlaces
  package let traits: SettingTraits
  /// What holds where nobody gives it.
  package let initial: Value
  private let parse: @Sendable (String) throws(SettingFault) -> Value

  /// - Parameters:
  ///   - name: in kebab-case.
  ///   - help: one sentence or two.
  ///   - initial: what holds where nobody gives it.
  ///   - defaultText: how that would be given; nil where it cannot be.
  ///   - withoutValue: what it means where there is no such text.
  init(
    _ name: String, _ form: SettingForm, initial: Value, defaultText: String? = nil,
    withoutValue: String = "none",
    places: SettingPlaces = .all, _ traits: SettingTraits = [], help: String,
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

  /// - Parameter text: as it was given; nil: nobody gave it.
  func value(of text: String?) throws(SettingFault) -> Value {
    guard let text else { return initial }
    return try parse(text)
  }

  package func check(_ text: String?) throws(SettingFault) -> any Sendable { try value(of: text) }
}

/// Where a setting can be given.
package struct SettingPlaces: OptionSet, Sendable {
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

  /// Its value is shown to nobody.
  package static let secret = Self(rawValue: 1)
  /// The process of `ferry worker` has to know it as well.
  package static let forWorker = Self(rawValue: 2)
  /// No help and no document tells of it.
  package static let hidden = Self(rawValue: 4)
}

/// A setting of any type.
package protocol AnySetting: Sendable {
  /// In kebab-case.
  var name: String { get }
  var help: String { get }
  var form: SettingForm { get }
  /// What holds where nobody gives it, as it would be given; nil where it could not be.
  var defaultText: String? { get }
  /// What holds then, in words.
  var withoutValue: String { get }
  var places: SettingPlaces { get }
  var traits: SettingTraits { get }
  /// The value that the text stands for; the default where there is none.
  func check(_ text: String?) throws(SettingFault) -> any Sendable
}

extension AnySetting {
  package var option: String { "--" + name }
  package var variable: String { SettingVariables.prefix + name.uppercased().map { $0 == "-" ? "_" : $0 } }

  /// The member of the file: in camelCase, or as the option.
  package var member: String {
    let words = name.split(separator: "-")
    return words.dropFirst().reduce(String(words[0])) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
  }

  package var shownDefault: String { defaultText.map { form.readable($0) } ?? withoutValue }
}
