internal import FoundationEssentials

/// Why nothing can be done with the settings as they are: one line that names what is at fault.
package struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  /// - Parameters:
  ///   - name: the setting at fault, as it is on the command line without its dashes.
  ///   - problem: what is wrong with it, and what to do.
  package init(_ name: String, _ problem: String) { description = "\(name): \(problem)" }

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
  /// - Parameter name: the setting that names it.
  static func text(_ path: String, of name: String) throws(SettingsError) -> String {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw SettingsError(name, "\(path) \(fault(path) ?? "cannot be read")")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw SettingsError(name, "\(path) is not UTF-8")
    }
    return text
  }
}
