import ArgumentParser
import FerrySettings

/// The options of both `ferry serve` and `ferry worker`.
struct EngineOptions: SettingOptions {
  @Option(\.dataDirectory) var dataDirectory: String?
  @Option(\.destinationDirectory) var destinationDirectory: [String]
  @Option(\.allowNetwork) var allowNetwork: [String]
  @Option(\.interfaceClass) var interfaceClass: [String]
  @Option(\.secretKeyFile) var secretKeyFile: String?
  @Option(\.smallBodyLimit) var smallBodyLimit: String?
  @Option(\.maximumBodySize) var maximumBodySize: String?
  @Option(\.maximumTransfers) var maximumTransfers: String?
  @Option(\.maximumAuthenticationAttempts) var maximumAuthenticationAttempts: String?
  @Option(\.discretionaryWindow) var discretionaryWindow: [String]
  @Option(\.discretionaryMaximumLoad) var discretionaryMaximumLoad: String?
  @Option(\.caFile) var caFile: String?
  @Option(\.logLevel) var logLevel: String?
  @Option(\.config) var config: String?
}

/// The options of the service alone.
struct ServeOptions: SettingOptions {
  @Option(\.listen) var listen: String?
  @Option(\.destinationMode) var destinationMode: String?
  @Option(\.tokenFile) var tokenFile: String?
  @Option(\.webhookSecretFile) var webhookSecretFile: String?
  @Option(\.maximumEphemeralBytes) var maximumEphemeralBytes: String?
  @Option(\.transferLoops) var transferLoops: String?
  @Option(\.maximumConnections) var maximumConnections: String?
  @Option(\.taskRetention) var taskRetention: String?
  @Option(\.eventRetention) var eventRetention: String?
  @Option(\.deliveryRetention) var deliveryRetention: String?
  @Option(\.webhookSchedule) var webhookSchedule: String?
  @Option(\.maximumBodyBytes) var maximumBodyBytes: String?
  @Flag(\.newDatabase) var newDatabase: Bool
  @Option(\.retentionInterval) var retentionInterval: String?
}

/// All options of a service.
struct ServiceOptions: ParsableArguments {
  @OptionGroup var serve: ServeOptions
  @OptionGroup var engine: EngineOptions

  var values: [String: String] { serve.values.merging(engine.values) { $1 } }
}
