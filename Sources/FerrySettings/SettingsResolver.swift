internal import Configuration
internal import Synchronization
internal import SystemPackage

/// The source of a value.
package enum SettingOrigin: Sendable, Equatable {
  /// An option of the command line, by its name.
  case commandLine(String)
  /// A variable, by its name.
  case environment(String)
  /// A file, with its path and the member's name in camel case.
  case file(String, member: String)
  /// A directory found in the working directory.
  case workingDirectory

  /// The name of the source in messages.
  var place: String {
    switch self {
    case .commandLine(let name), .environment(let name): name
    case .file(let path, let member): "'\(member)' in \(path)"
    case .workingDirectory: "the working directory"
    }
  }
}

/// A given value with its source.
package struct SettingValue: Sendable, Equatable {
  package let text: String
  package let origin: SettingOrigin
}

/// The sources of settings, in order of precedence: options, the environment, the local service, the file. The local service counts only
/// if no option or variable names a service or a file.
struct SettingsResolver {
  private static let commandLine = "options"
  private static let service = "service"

  private let reader: ConfigReader
  private let winner = WinningProvider()
  private let file: String?
  private let local: LocalService?
  /// The settings of the local service; empty if it does not count or does not exist.
  private var found: [String: SettingValue] = [:]

  /// Opens the sources.
  /// - Parameters:
  ///   - options: the command-line options by setting name.
  ///   - local: the service whose settings count if none of `names` is given.
  ///   - names: the settings that name a service.
  /// - Throws: an error if the file cannot be read.
  init(
    options: [String: String], environment: [String: String], local: LocalService? = nil,
    unless names: [any AnySetting] = []
  ) async throws(SettingsError) {
    let secrets = SettingsCatalogue.all.filter { $0.traits.contains(.secret) }.map(\.variable)
    var providers: [any ConfigProvider] = [
      Self.provider(Self.commandLine, options),
      EnvironmentVariablesProvider(
        environmentVariables: environment.filter { $0.key.hasPrefix(SettingVariables.prefix) },
        secretsSpecifier: .specific(Set(secrets))),
    ]
    let config = SettingsCatalogue.shared.config
    let named = ConfigReader(providers: providers)
    self.local = local
    if let local, let first = names.first,
      (names + [config]).allSatisfy({ named.string(forKey: Self.key($0.name)) == nil })
    {
      found = try local.settings(unless: first)
      providers.append(Self.provider(Self.service, found.mapValues(\.text)))
    }
    file = ConfigReader(providers: providers).string(forKey: Self.key(config.name))
    if let file, !file.isEmpty { providers.append(try await Self.provider(of: file)) }
    reader = ConfigReader(providers: providers, accessReporter: winner)
  }

  private static func provider(_ name: String, _ texts: [String: String]) -> InMemoryProvider {
    let values = texts.map { (AbsoluteConfigKey(Self.key($0)), ConfigValue(.string($1), isSecret: true)) }
    return InMemoryProvider(name: name, values: Dictionary(uniqueKeysWithValues: values))
  }

  private static func provider(of path: String) async throws(SettingsError) -> any ConfigProvider {
    do {
      return try await FileProvider<SettingsFile>(
        parsingOptions: .init(path: path), filePath: FilePath(path))
    } catch let error as SettingsError {
      throw error
    } catch {
      throw SettingsError(\.config, "\(path) \(NamedFile.fault(path) ?? "cannot be read")")
    }
  }

  /// Returns the key of a setting. With the prefix it matches `FERRY_DATA_DIRECTORY` in the environment.
  private static func key(_ name: String) -> ConfigKey { ConfigKey(["ferry", name]) }

  /// Returns the given value; `nil` if the default applies.
  func value(of setting: any AnySetting) -> SettingValue? {
    guard let text = reader.string(forKey: Self.key(setting.name)) else { return nil }
    let provider = winner.name.withLock { $0 }
    guard provider != "InMemoryProvider[\(Self.service)]" else { return found[setting.name] }
    let origin: SettingOrigin =
      if provider.hasPrefix("InMemoryProvider") {
        .commandLine(setting.option)
      } else if provider.hasPrefix("EnvironmentVariablesProvider") {
        .environment(setting.variable)
      } else {
        .file(file ?? "", member: setting.member)
      }
    guard case .file = origin, let local, !found.isEmpty else {
      return SettingValue(text: text, origin: origin)
    }
    return SettingValue(text: local.path(text, of: setting), origin: origin)
  }

  /// A reporter that records which provider answered last.
  private final class WinningProvider: AccessReporter {
    let name = Mutex("")

    func report(_ event: AccessEvent) {
      let answered = event.providerResults.first { (try? $0.result.get().value) ?? nil != nil }
      name.withLock { $0 = answered?.providerName ?? "" }
    }
  }
}
