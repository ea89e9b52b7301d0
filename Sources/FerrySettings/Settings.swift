package import Addresses
internal import FoundationEssentials
package import TransferModel

/// What holds: each setting's value, by its name in `SettingsCatalogue`.
@dynamicMemberLookup
package struct Settings: Sendable {
  /// Who asks.
  package enum Purpose: Sendable {
    /// The service: all settings count.
    case service
    /// Its worker, which has the service's environment: only what it has to know counts.
    case worker
    /// A command beside the service: as the worker's, but by people's hand.
    case maintenance
  }

  private var values: [String: any Sendable] = [:]
  /// What was given, by the settings' names; all else is as it is by default.
  package private(set) var given: [String: GivenValue] = [:]
  /// Who may call; none: programs on this machine only.
  package private(set) var tokens: [BearerToken] = []

  /// - Parameters:
  ///   - options: what was given on the command line, by the settings' names.
  ///   - local: the service whose settings count if neither an option nor a variable names a data directory or a file; nil: none.
  ///   - environment: the process's.
  package static func load(
    _ options: [String: String], for purpose: Purpose = .service, local: LocalService? = nil,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) async throws(SettingsError) -> Settings {
    // What another version of the service took for a setting must not keep its worker from its work.
    if purpose != .worker { try SettingVariables.check(environment) }
    let sources = try await SettingsSources(
      options: options, environment: environment, local: local,
      unless: [SettingsCatalogue.shared.dataDirectory])
    var settings = Settings()
    for setting in SettingsCatalogue.all
    where purpose == .service || setting.traits.contains(.forWorker) {
      try settings.take(setting, sources.value(of: setting))
    }
    guard purpose == .service else { return settings }
    settings.tokens = try settings.readTokens()
    if settings.tokens.isEmpty, !settings.listen.isLoopback {
      let catalogue = SettingsCatalogue.shared
      throw SettingsError(
        \.listen,
        """
        without a token (\(catalogue.tokenFile.option) or \(catalogue.tokens.variable)) only a loopback address is \
        allowed, not \(settings.listen)
        """)
    }
    return settings
  }

  /// Where the service listens; no other setting is looked at, and no file that one names is read.
  package static func listenAddress(
    _ options: [String: String], local: LocalService? = nil,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) async throws(SettingsError) -> ListenAddress {
    let setting = SettingsCatalogue.shared.listen
    let sources = try await SettingsSources(
      options: options, environment: environment, local: local,
      unless: [setting, SettingsCatalogue.shared.dataDirectory])
    var settings = Settings()
    try settings.take(setting, sources.value(of: setting))
    return settings.listen
  }

  private mutating func take(_ setting: any AnySetting, _ value: GivenValue?) throws(SettingsError) {
    given[setting.name] = value
    do throws(SettingFault) {
      values[setting.name] = try setting.check(value?.text)
    } catch {
      throw SettingsError(setting, error.problem + Self.place(value))
    }
  }

  /// Where to look for what is wrong, if that is not before everybody's eyes.
  private static func place(_ value: GivenValue?) -> String {
    switch value?.origin {
    case .commandLine?, nil: ""
    case let origin?: " (\(origin.place))"
    }
  }

  package subscript<Value: Sendable>(
    dynamicMember path: KeyPath<SettingsCatalogue, Setting<Value>>
  ) -> Value {
    let setting = SettingsCatalogue.shared[keyPath: path]
    return values[setting.name] as? Value ?? setting.initial
  }

  /// Reads the bearer tokens as they are now: a token file may have changed since the start.
  package func readTokens() throws(SettingsError) -> [BearerToken] {
    let (file, list) = (SettingsCatalogue.shared.tokenFile, SettingsCatalogue.shared.tokens)
    guard let path = self.tokenFile else { return self[dynamicMember: \.tokens] }
    if let one = given[list.name], let other = given[file.name] {
      throw SettingsError(
        list, "\(one.origin.place) and \(other.origin.place) are both given; leave one of them out")
    }
    try NamedFile.refuseWritable(path, of: \.tokenFile)
    let text = try NamedFile.text(path, of: file)
    do throws(SettingFault) {
      return try BearerToken.all(text, separators: "", item: "line")
    } catch {
      throw SettingsError(file, "\(path): \(error.problem)")
    }
  }

  /// What the worker's process has to know, as options of `ferry worker`.
  package var workerArguments: [String] {
    SettingsCatalogue.all.filter { $0.traits.contains(.forWorker) && $0.places.contains(.file) }
      .flatMap { setting in given[setting.name].map { [setting.option, $0.text] } ?? [] }
  }

  /// The environment without what is the service's alone: a worker is told by its arguments.
  package static func workerEnvironment(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> [String: String] {
    environment.filter { !$0.key.hasPrefix(SettingVariables.prefix) }
  }
}

// MARK: What several settings say together, and shorter names

extension Settings {
  /// The data directory as messages of commands call it, with its origin if no option names it.
  package var namedDirectory: String {
    switch given[SettingsCatalogue.shared.dataDirectory.name]?.origin {
    case .commandLine?: self.dataDirectory
    case let origin?: "\(self.dataDirectory) (\(origin.place))"
    case nil: "\(self.dataDirectory) (the default)"
    }
  }
  package var allowedNetworks: [IPNetwork] { self.allowNetwork }
  package var interfacePolicy: InterfacePolicy { self.interfaceClass }
  package var certificateAuthorityFile: String? { self.caFile }
  /// A new database is wanted where there is none, whatever lies beside it.
  package var acceptsNewDatabase: Bool { self.newDatabase }

  package var retention: Retention {
    var retention = Retention()
    retention.tasks = Double(self.taskRetention)
    retention.events = Double(self.eventRetention)
    retention.deliveries = Double(self.deliveryRetention)
    retention.maximumBodyBytes = self.maximumBodyBytes.map { Int64($0) }
    return retention
  }

  package var discretion: DiscretionaryPolicy {
    DiscretionaryPolicy(windows: self.discretionaryWindow, maximumLoad: self.discretionaryMaximumLoad)
  }
}
