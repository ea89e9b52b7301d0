internal import FoundationEssentials

/// The service that a command uses if neither an option nor a variable names one: the service in the working directory, or else the
/// installed package.
package struct LocalService: Sendable {
  /// The paths of the package and of its unit (`deploy/ferry.service`).
  package static let standard = Self()
  private static let unit = "ferry.service"
  /// A sentence for the help of commands.
  package static let help =
    """
    If neither an option nor a variable names a service, the command uses the one in ferry-data of the working directory. If \
    there is none, the command uses the service of the package, with the settings in /etc/ferry/ferry.env.
    """

  /// The default data directory of `ferry serve`.
  let ownDirectory: String
  let environmentFile: String
  /// The data directory of the unit, which is also its working directory.
  let packageDirectory: String

  init(
    ownDirectory: String = SettingsCatalogue.shared.dataDirectory.initial,
    environmentFile: String = "/etc/ferry/ferry.env", packageDirectory: String = "/var/lib/ferry"
  ) {
    self.ownDirectory = ownDirectory
    self.environmentFile = environmentFile
    self.packageDirectory = packageDirectory
  }

  /// Returns the settings of that service by name; empty if there is no such service.
  /// - Parameter setting: the setting whose option makes this look-up unnecessary; errors name it.
  func settings(unless setting: any AnySetting) throws(SettingsError) -> [String: SettingValue] {
    let directory = SettingsCatalogue.shared.dataDirectory
    guard !Self.isDirectory(ownDirectory) else {
      return [directory.name: SettingValue(text: ownDirectory, origin: .workingDirectory)]
    }
    let variables = try variables(unless: setting)
    guard variables != nil || Self.isDirectory(packageDirectory) else { return [:] }
    try SettingVariables.check(variables ?? [:], in: environmentFile)
    let unit = SettingOrigin.file(Self.unit, member: directory.variable)
    var found = [directory.name: SettingValue(text: packageDirectory, origin: unit)]
    for setting in SettingsCatalogue.all where setting.places.contains(.environment) {
      guard let text = variables?[setting.variable] else { continue }
      found[setting.name] = SettingValue(
        text: path(text, of: setting), origin: .file(environmentFile, member: setting.variable))
    }
    return found
  }

  /// Resolves a relative path against the service's working directory.
  func path(_ text: String, of setting: any AnySetting) -> String {
    switch setting.form {
    case .directory, .file: text.isEmpty || text.hasPrefix("/") ? text : packageDirectory + "/" + text
    default: text
    }
  }

  /// Reads the environment file; `nil` if it does not exist.
  private func variables(unless setting: any AnySetting) throws(SettingsError) -> [String: String]? {
    do {
      let data = try Data(contentsOf: URL(filePath: environmentFile))
      return EnvironmentFile.variables(of: String(decoding: data, as: UTF8.self))
    } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
      return nil
    } catch {
      let fault = NamedFile.fault(environmentFile) ?? "cannot be read"
      throw SettingsError(
        whole:
          "\(environmentFile) \(fault); use sudo, or name the service with \(setting.option)")
    }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var isDirectory = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
  }
}
