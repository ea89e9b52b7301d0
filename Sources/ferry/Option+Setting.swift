import ArgumentParser
import FerrySettings

/// Command-line options made from settings, which define the names, the help and the completions.
extension Option where Value == String? {
  init<Wanted>(_ path: KeyPath<SettingsCatalogue, Setting<Wanted>>) {
    let setting = SettingsCatalogue.shared[keyPath: path]
    self.init(name: .customLong(setting.name), help: setting.argumentHelp, completion: setting.completion)
  }
}

/// An option that may be repeated.
extension Option where Value == [String] {
  init<Wanted>(_ path: KeyPath<SettingsCatalogue, Setting<Wanted>>) {
    let setting = SettingsCatalogue.shared[keyPath: path]
    self.init(wrappedValue: [], name: .customLong(setting.name), help: setting.argumentHelp)
  }
}

extension Flag where Value == Bool {
  init(_ path: KeyPath<SettingsCatalogue, Setting<Bool>>) {
    let setting = SettingsCatalogue.shared[keyPath: path]
    self.init(wrappedValue: false, name: .customLong(setting.name), help: setting.argumentHelp)
  }
}

extension AnySetting {
  fileprivate var argumentHelp: ArgumentHelp {
    let hasDefault = form != .flag && shownDefault != "none"
    return ArgumentHelp(
      "\(help)\(hasDefault ? " [\(shownDefault)]" : "")", valueName: form.valueName,
      visibility: traits.contains(.hidden) ? .hidden : .default)
  }

  fileprivate var completion: CompletionKind? {
    switch form {
    case .directory: .directory
    case .file: .file()
    case .choice(let words): .list(words)
    default: nil
    }
  }
}

/// A group of options that are settings. The name of each property is the setting's name in camel case.
protocol SettingOptions: ParsableArguments {}

extension SettingOptions {
  /// The given options by setting name, in the form of the environment.
  var values: [String: String] {
    var values: [String: String] = [:]
    for property in Mirror(reflecting: self).children {
      let setting = SettingsCatalogue.all.first { "_" + $0.member == property.label }
      guard let setting else { continue }
      values[setting.name] = setting.text(of: property.value)
    }
    return values
  }
}

extension AnySetting {
  /// The text between the values of a repeated option.
  private var joint: String { if case .list(_, _, let joint) = form { String(joint) } else { " " } }

  /// Returns the option's text; `nil` if the option was not given.
  fileprivate func text(of option: Any) -> String? {
    switch option {
    case let option as Option<String?>: option.wrappedValue
    case let option as Option<[String]>:
      option.wrappedValue.isEmpty ? nil : option.wrappedValue.joined(separator: joint)
    case let flag as Flag<Bool>: flag.wrappedValue ? "true" : nil
    default: nil
    }
  }
}
