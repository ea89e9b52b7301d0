internal import FoundationEssentials

/// The service that a command on this machine means, if neither an option nor a variable names it: the one whose data is in the working
/// directory, else the one that the package has installed.
package struct LocalService: Sendable {
  /// The paths of the package and of its unit (`deploy/ferry.service`).
  package static let standard = Self()
  private static let unit = "ferry.service"
  /// A sentence for the help of commands.
  package static let help =
    """
    If neither an option nor a variable names a service, the command uses the one in ferry-data of the working directory, \
    else that of the package, with the settings in /etc/ferry/ferry.env.
    """

  /// Where `ferry serve` keeps its data by default.
  let ownDirectory: String
  let environmentFile: String
  /// The data directory of the unit, and its working directory.
  let packageDirectory: String

  init(
    ownDirectory: String = SettingsCatalogue.shared.dataDirectory.initial,
    environmentFile: String = "/etc/ferry/ferry.env", packageDirectory: String = "/var/lib/ferry"
  ) {
    self.ownDirectory = ownDirectory
    self.environmentFile = environmentFile
    self.packageDirectory = packageDirectory
  }

  /// The settings of that service, by their names; none if there is no such service.
  /// - Parameter setting: the one whose option makes this look-up unnecessary; the error names it.
  func settings(unless setting: any AnySetting) throws(SettingsError) -> [String: GivenValue] {
    let directory = SettingsCatalogue.shared.dataDirectory
    guard !Self.isDirectory(ownDirectory) else {
      return [directory.name: GivenValue(text: ownDirectory, origin: .workingDirectory)]
    }
    let variables = try variables(unless: setting)
    guard variables != nil || Self.isDirectory(packageDirectory) else { return [:] }
    try SettingVariables.check(variables ?? [:], in: environmentFile)
    let unit = SettingOrigin.file(Self.unit, member: directory.variable)
    var found = [directory.name: GivenValue(text: packageDirectory, origin: unit)]
    for setting in SettingsCatalogue.all where setting.places.contains(.environment) {
      guard let text = variables?[setting.variable] else { continue }
      found[setting.name] = GivenValue(
        text: path(text, of: setting), origin: .file(environmentFile, member: setting.variable))
    }
    return found
  }

  /// A value as that service reads it: a relative path begins at its working directory.
  func path(_ text: String, of setting: any AnySetting) -> String {
    switch setting.form {
    case .directory, .file: text.isEmpty || text.hasPrefix("/") ? text : packageDirectory + "/" + text
    default: text
    }
  }

  /// nil: there is no such file.
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
          "\(environmentFile) \(fault): use sudo, or name the service with \(setting.option)")
    }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var isDirectory = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
  }
}
