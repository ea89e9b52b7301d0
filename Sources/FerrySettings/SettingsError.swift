internal import FoundationEssentials

/// Why nothing can be done with the settings as they are: one line that names what is at fault.
package struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  /// - Parameters:
  ///   - setting: the one at fault.
  ///   - problem: what is wrong with it, and what to do.
  package init<Value>(_ setting: KeyPath<SettingsCatalogue, Setting<Value>>, _ problem: String) {
    self.init(SettingsCatalogue.shared[keyPath: setting], problem)
  }

  init(_ setting: any AnySetting, _ problem: String) { description = "\(setting.name): \(problem)" }

  init(whole description: String) { self.description = description }
}

/// What is wrong with a value, without the setting's name.
package struct SettingFault: Error, Sendable, Equatable {
  package let problem: String
  package init(_ problem: String) { self.problem = problem }
}

/// Files that settings name.
package enum NamedFile {
  /// Why it cannot be read, in words that go behind its path.
  package static func fault(_ path: String) -> String? {
    var isDirectory = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      return "is not there, or in a directory that this user may not search"
    }
    if isDirectory { return "is a directory" }
    return FileManager.default.isReadableFile(atPath: path) ? nil : "may not be read by this user"
  }

  /// The text of it.
  /// - Parameter setting: the one that names it.
  static func text(_ path: String, of setting: any AnySetting) throws(SettingsError) -> String {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw SettingsError(setting, "\(path) \(fault(path) ?? "cannot be read")")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw SettingsError(setting, "\(path) is not UTF-8")
    }
    return text
  }
}
