internal import FoundationEssentials

/// An error in the settings: one line that names the cause.
package struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  /// Makes an error about one setting.
  /// - Parameters:
  ///   - setting: the faulty setting.
  ///   - problem: the fault and its remedy.
  package init<Value>(_ setting: KeyPath<SettingsCatalogue, Setting<Value>>, _ problem: String) {
    self.init(SettingsCatalogue.shared[keyPath: setting], problem)
  }

  init(_ setting: any AnySetting, _ problem: String) { description = "\(setting.name): \(problem)" }

  init(whole description: String) { self.description = description }
}

/// A fault of a value, without the setting's name.
package struct SettingFault: Error, Sendable, Equatable {
  package let problem: String
  package init(_ problem: String) { self.problem = problem }
}

/// Files that settings name.
package enum NamedFile {
  /// Returns why a file cannot be read, as words that follow its path; `nil` if it can.
  package static func fault(_ path: String) -> String? {
    var isDirectory = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      return "does not exist, or is in a directory that this user cannot search"
    }
    if isDirectory { return "is a directory, not a file" }
    return FileManager.default.isReadableFile(atPath: path) ? nil : "cannot be read by this user"
  }

  /// Returns the text of a file.
  /// - Parameter setting: the setting that names the file.
  static func text(_ path: String, of setting: any AnySetting) throws(SettingsError) -> String {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw SettingsError(setting, "\(path) \(fault(path) ?? "cannot be read")")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw SettingsError(setting, "\(path) is not UTF-8; save it in that encoding")
    }
    return text
  }
}
