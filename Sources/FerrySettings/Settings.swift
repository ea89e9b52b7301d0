package import Addresses
internal import FoundationEssentials
package import TransferModel

/// The effective settings: each setting's value, by its name in `SettingsCatalogue`.
@dynamicMemberLookup
package struct Settings: Sendable {
  /// The kind of process that reads the settings.
  package enum Purpose: Sendable {
    /// The service, which uses all settings.
    case service
    /// The worker, which inherits the service's environment and uses only the settings for workers.
    case worker
    /// A maintenance command, which uses the same settings as the worker but is run by a person.
    case maintenance
  }

  private var values: [String: any Sendable] = [:]
  /// The given values by setting name. Other settings have their defaults.
  package private(set) var given: [String: SettingValue] = [:]
  /// The bearer tokens; empty if only programs on this machine may call.
  package private(set) var tokens: [BearerToken] = []

  /// Loads the settings.
  /// - Parameters:
  ///   - options: the command-line options by setting name.
  ///   - local: the service whose settings count if neither an option nor a variable names a data directory or a file.
  ///   - environment: the environment of the process.
  package static func load(
    _ options: [String: String], for purpose: Purpose = .service, local: LocalService? = nil,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) async throws(SettingsError) -> Settings {
    // Settings of another version of the service must not stop its worker.
    if purpose != .worker { try SettingVariables.check(environment) }
    let sources = try await SettingsResolver(
      options: options, environment: environment, local: local,
      unless: [SettingsCatalogue.shared.dataDirectory])
    var settings = Settings()
    for setting in SettingsCatalogue.all
    where purpose == .service || setting.traits.contains(.forWorker) {
      try settings.apply(setting, sources.value(of: setting))
    }
    guard purpose == .service else { return settings }
    settings.tokens = try settings.readTokens()
    if settings.tokens.isEmpty, !settings.listen.isLoopback {
      let catalogue = SettingsCatalogue.shared
      throw SettingsError(
        \.listen,
        """
        \(settings.listen) can be reached from other machines, which requires a token; give \
        \(catalogue.tokenFile.option) or \(catalogue.tokens.variable), or listen on a loopback address
        """)
    }
    try settings.checkTenantsOfDestinations()
    return settings
  }

  /// Checks that each directory of destinations has a tenant if there are tokens, and only then.
  private func checkTenantsOfDestinations() throws(SettingsError) {
    for entry in self.destinationDirectory.entries where (entry.tenant == nil) != tokens.isEmpty {
      throw SettingsError(
        \.destinationDirectory,
        tokens.isEmpty
          ? "'\(entry.description)' names a tenant, but there are no tokens; write \(entry.path)"
          : "'\(entry.description)' names no tenant, which tokens require; write it like \(tokens[0].tenant.name)=\(entry.path)"
      )
    }
  }

  /// Returns the address on which the service listens. No other setting is read, and no file that another setting names.
  package static func listenAddress(
    _ options: [String: String], local: LocalService? = nil,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) async throws(SettingsError) -> ListenAddress {
    let setting = SettingsCatalogue.shared.listen
    let sources = try await SettingsResolver(
      options: options, environment: environment, local: local,
      unless: [setting, SettingsCatalogue.shared.dataDirectory])
    var settings = Settings()
    try settings.apply(setting, sources.value(of: setting))
    return settings.listen
  }

  private mutating func apply(_ setting: any AnySetting, _ value: SettingValue?) throws(SettingsError) {
    given[setting.name] = value
    do throws(SettingFault) {
      values[setting.name] = try setting.check(value?.text)
    } catch {
      throw SettingsError(setting, error.problem + Self.place(value))
    }
  }

  /// Returns the place of a faulty value; empty for the command line and for defaults.
  private static func place(_ value: SettingValue?) -> String {
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

  /// Reads the current bearer tokens, because a token file may have changed since the start.
  package func readTokens() throws(SettingsError) -> [BearerToken] {
    let (file, list) = (SettingsCatalogue.shared.tokenFile, SettingsCatalogue.shared.tokens)
    guard let path = self.tokenFile else { return self[dynamicMember: \.tokens] }
    if let one = given[list.name], let other = given[file.name] {
      throw SettingsError(
        list, "\(one.origin.place) and \(other.origin.place) are both given; remove one of them")
    }
    try NamedFile.rejectWritable(path, of: \.tokenFile)
    let text = try NamedFile.text(path, of: file)
    do throws(SettingFault) {
      return try BearerToken.all(text, separators: "", item: "line")
    } catch {
      throw SettingsError(file, "\(path): \(error.problem)")
    }
  }

  /// The settings for the worker as options of `ferry worker`.
  package var workerArguments: [String] {
    SettingsCatalogue.all.filter { $0.traits.contains(.forWorker) && $0.places.contains(.file) }
      .flatMap { setting in given[setting.name].map { [setting.option, $0.text] } ?? [] }
  }

  /// Returns the environment without Ferry's variables. The worker gets its settings as arguments.
  package static func workerEnvironment(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> [String: String] {
    environment.filter { !$0.key.hasPrefix(SettingVariables.prefix) }
  }
}

// MARK: Derived settings

extension Settings {
  /// The data directory in the messages of commands, with its origin unless an option names it.
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
  /// Whether a missing database may be replaced by a new one although other data exist.
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
