package import Addresses
package import Logging
package import TransferModel

/// Every setting that there is, in the order in which documents list them.
package struct SettingsCatalogue: Sendable {
  package let listen = Setting(
    "listen", .address, initial: ListenAddress.initial, defaultText: ListenAddress.initial.description,
    help: """
      Address and port to listen on; `:8080` means all addresses. Port 0 takes a free port; the log \
      line `listening` names it.
      """
  ) { text throws(SettingFault) in try ListenAddress(text) }

  package let dataDirectory = Setting.text(
    "data-directory", .directory, initial: "ferry-data", .forWorker,
    help: "Directory for the database and the bodies.")

  package let allowNetwork = Setting.list(
    "allow-network", item: "network", separators: ", ", .forWorker,
    help:
      "A network in CIDR notation that transfers and webhooks may reach although it is not public; may be repeated."
  ) { texts throws(SettingFault) in try IPNetwork.all(texts) }

  package let interfaceClass = Setting.list(
    "interface-class", item: "class", separators: " ;", initial: InterfacePolicy(), .forWorker,
    help:
      "What kind of network an interface is, as wwan*=cellular or eth1=expensive,constrained; may be repeated."
  ) { texts throws(SettingFault) in
    do throws(InterfacePolicy.Fault) { return try InterfacePolicy(parsing: texts) } catch {
      throw SettingFault(error.message)
    }
  }

  package let tokenFile = Setting.path(
    "token-file",
    help: """
      File with bearer tokens, one a line, perhaps with a tenant and a blank before it (`acme s3cret`). Without any token \
      only this machine is served.
      """)

  /// Not on the command line: everybody on the machine sees that.
  package let tokens = Setting(
    "tokens", .list(item: "token", separators: ",\n", joint: "\n"), initial: [BearerToken](),
    places: [.environment, .file], .secret,
    help: "Bearer tokens, each as a line of the token file; instead of that file."
  ) { text throws(SettingFault) in try BearerToken.all(text, separators: ",\n", item: "entry") }

  package let webhookSecretFile = Setting.path(
    "webhook-secret-file", withoutValue: "made in the data directory",
    help: "File with the secret (whsec_…) of webhooks that have none of their own.")

  package let secretKeyFile = Setting.path(
    "secret-key-file", withoutValue: "made in the data directory", .forWorker,
    help: """
      File with the base64 of 32 bytes, one key a line, that protect stored secrets and resume data; the first is used, \
      all of them open.
      """)

  package let smallBodyLimit = Setting.integer(
    "small-body-limit", 0...1_048_576, .bytes, initial: 32 * 1024, .forWorker,
    help: "Largest body that is kept in the database instead of a file.")

  package let maximumBodySize = Setting.integer(
    "maximum-body-size", 1...Int.max, .bytes, initial: 1 << 40, .forWorker,
    help: "Largest body of a response.")

  package let maximumEphemeralBytes = Setting.integer(
    "maximum-ephemeral-bytes", 0...Int.max, .bytes, initial: 1 << 30,
    help:
      "Maximum memory for data that is never on disk: all data of ephemeral sessions, and `forSession` credentials of default sessions."
  )

  package let maximumTransfers = Setting.integer(
    "maximum-transfers", 1...1_000_000, initial: 4096, .forWorker,
    help: "Transfers at once, of each worker.")

  package let workers = Setting.integer("workers", 1...64, initial: 1, help: "Event loops for transfers.")

  package let maximumConnections = Setting.integer(
    "maximum-connections", 1...1_000_000, initial: 10_000, help: "Connections of clients at once.")

  package let maximumAuthenticationAttempts = Setting.integer(
    "maximum-authentication-attempts", 1...1000, initial: 10, .forWorker,
    help: "Credentials of a task that may be refused before it ends with attemptLimitReached.")

  package let taskRetention = Setting.integer(
    "task-retention", Self.retention, .seconds, initial: Int(Retention().tasks),
    help: "How long tasks are kept after their end.")

  package let eventRetention = Setting.integer(
    "event-retention", Self.retention, .seconds, initial: Int(Retention().events),
    help: "How long events can be replayed.")

  package let deliveryRetention = Setting.integer(
    "delivery-retention", Self.retention, .seconds, initial: Int(Retention().deliveries),
    help: "How long webhooks' messages are kept after they were taken or given up.")

  package let maximumBodyBytes = Setting.optionalInteger(
    "maximum-body-bytes", 1...Int.max, .bytes, withoutValue: "no limit",
    help: "What the bodies of finished tasks may take together on the disk; beyond, the oldest go first.")

  /// From one look at what is old to the next.
  package let retentionInterval = Setting.integer(
    "retention-interval", 1...86_400, .seconds, initial: 60, .hidden,
    help: "How often what is old is looked for.")

  package let discretionaryWindow = Setting.list(
    "discretionary-window", item: "window", separators: ", ", withoutValue: "always", .forWorker,
    help: "When tasks of sessions with isDiscretionary may run, as 22:00-06:00 (UTC); may be repeated."
  ) { texts throws(SettingFault) in try DailyWindow.all(texts) }

  package let discretionaryMaximumLoad = Setting(
    "discretionary-maximum-load", .decimal, initial: Double?.none, .forWorker,
    help: "Load average of a minute above which discretionary tasks do not run."
  ) { text throws(SettingFault) in
    guard let load = Double(text), load >= 0, load.isFinite else {
      throw SettingFault("'\(text)' is not a load average, like 2.5")
    }
    return load
  }

  package let caFile = Setting.path(
    "ca-file", withoutValue: "the system's", .forWorker,
    help: "PEM file of the certificate authorities that origins are checked against.")

  package let logLevel = Setting(
    "log-level", .choice(Logger.Level.allCases.map(\.rawValue)), initial: Logger.Level.info,
    defaultText: Logger.Level.info.rawValue, .forWorker, help: "The least that is logged."
  ) { text throws(SettingFault) in
    guard let level = Logger.Level(rawValue: text) else {
      let known = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      throw SettingFault("'\(text)' is not a level, which are \(known)")
    }
    return level
  }

  package let newDatabase = Setting(
    "new-database", .flag, initial: false, defaultText: "false",
    help: """
      Begin anew where the database is missing although there are bodies or files, instead of refusing to start: they \
      are set aside.
      """
  ) { text throws(SettingFault) in
    guard let flag = Bool(text) else { throw SettingFault("'\(text)' is not true or false") }
    return flag
  }

  package let config = Setting.path(
    "config", places: [.commandLine, .environment], .forWorker,
    help: "JSON file with settings.")

  /// Seconds: up to a hundred years.
  private static let retention = 1...3_153_600_000

  private init() {}

  package static let shared = Self()
  package static let all = Mirror(reflecting: shared).children.compactMap { $0.value as? any AnySetting }

  package static func named(_ name: String) -> (any AnySetting)? { byName[name] }
  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}
