package import Addresses
package import Logging
package import TransferModel

/// All settings, in the order of the documents.
package struct SettingsCatalogue: Sendable {
  package let listen = Setting(
    "listen", .address, initial: ListenAddress.initial, defaultText: ListenAddress.initial.description,
    help: """
      Address and port to listen on; `:8080` means all addresses. Addresses other than loopback require a token. \
      Port 0 means a free port, which the log line `listening` names.
      """
  ) { text throws(SettingFault) in try ListenAddress(text) }

  package let dataDirectory = Setting.text(
    "data-directory", .directory, initial: "ferry-data", .forWorker,
    help: "Directory for the database, bodies, files and keys; `ferry serve` creates it.")

  package let destinationDirectory = Setting(
    "destination-directory", .list(item: "directory", separators: ",\n", joint: "\n"),
    initial: DestinationDirectories(), .forWorker,
    help: """
      Directory below which downloads may become files (`destination` of a task), as in `/srv/media`; may be repeated. With \
      tokens, each belongs to one tenant, as in `acme=/srv/acme`.
      """
  ) { text throws(SettingFault) in
    do throws(DestinationDirectories.Fault) {
      return try DestinationDirectories(
        parsing: text.split { $0 == "," || $0 == "\n" }.map { String($0) })
    } catch { throw SettingFault(error.message) }
  }

  package let destinationMode = Setting(
    "destination-mode", .mode, initial: UInt32(0o640), defaultText: "0640",
    help:
      "Permissions of the files at destinations. Directories that Ferry creates can also be searched by all who can read the files."
  ) { text throws(SettingFault) in
    guard text.utf8.count <= 4, let mode = UInt32(text, radix: 8), (0o400...0o777).contains(mode) else {
      throw SettingFault(
        "'\(text)' is not a mode that its owner can read; write it in octal digits, like 0640")
    }
    return mode
  }

  package let allowNetwork = Setting.list(
    "allow-network", item: "network", separators: ", ", .forWorker,
    help:
      "Network in CIDR notation that transfers and webhooks may reach although it is not public, as in `10.0.0.0/8`; may be repeated."
  ) { texts throws(SettingFault) in try IPNetwork.all(texts) }

  package let interfaceClass = Setting.list(
    "interface-class", item: "class", separators: " ;", initial: InterfacePolicy(), .forWorker,
    help:
      """
      Classes of a network interface, as in `wwan*=cellular` or `eth1=expensive,constrained`, which sessions and requests may \
      exclude; may be repeated.
      """
  ) { texts throws(SettingFault) in
    do throws(InterfacePolicy.Fault) { return try InterfacePolicy(parsing: texts) } catch {
      throw SettingFault(error.message)
    }
  }

  package let tokenFile = Setting.path(
    "token-file",
    help: """
      File with bearer tokens, one per line, optionally preceded by a tenant and a blank (`acme s3cret`). SIGHUP reads it again. \
      Without any token, Ferry serves only this machine.
      """)

  /// Not an option, because every user of the machine can see the command line.
  package let tokens = Setting(
    "tokens", .list(item: "token", separators: ",\n", joint: "\n"), initial: [BearerToken](),
    places: [.environment, .file], .secret,
    help: "Bearer tokens, each in the form of a line of the token file; not together with that file."
  ) { text throws(SettingFault) in try BearerToken.all(text, separators: ",\n", item: "entry") }

  package let webhookSecretFile = Setting.path(
    "webhook-secret-file", withoutValue: "created in the data directory",
    help:
      "File with the secret (`whsec_…`) that signs the messages of webhooks without a secret of their own.")

  package let secretKeyFile = Setting.path(
    "secret-key-file", withoutValue: "created in the data directory", .forWorker,
    help: """
      File with the keys that encrypt stored secrets and resume data, each line the base64 of 32 bytes; the first key encrypts, \
      and every key decrypts.
      """)

  package let smallBodyLimit = Setting.integer(
    "small-body-limit", 0...1_048_576, .bytes, initial: 32 * 1024, .forWorker,
    help: "Largest body of a response that is kept in the database; a larger one is kept in a file.")

  package let maximumBodySize = Setting.integer(
    "maximum-body-size", 1...Int.max, .bytes, initial: 1 << 40, .forWorker,
    help: "Largest body of a response; the task of a larger one ends with bodyTooLarge.")

  package let maximumEphemeralBytes = Setting.integer(
    "maximum-ephemeral-bytes", 0...Int.max, .bytes, initial: 1 << 30,
    help:
      "Memory for data that is never written to disk: all data of ephemeral sessions, and `forSession` credentials of default sessions."
  )

  package let maximumTransfers = Setting.integer(
    "maximum-transfers", 1...1_000_000, initial: 4096, .forWorker,
    help: "Running transfers of each transfer loop; further tasks wait.")

  package let transferLoops = Setting.integer(
    "transfer-loops", 1...64, initial: 1,
    help: "Number of transfer loops, the threads that carry out transfers.")

  package let maximumConnections = Setting.integer(
    "maximum-connections", 1...1_000_000, initial: 10_000,
    help: "Connections of clients at once; at most half of the file descriptors that the process may open.")

  package let maximumAuthenticationAttempts = Setting.integer(
    "maximum-authentication-attempts", 1...1000, initial: 10, .forWorker,
    help: "Refused credentials of one task; after so many the task ends with attemptLimitReached.")

  package let taskRetention = Setting.integer(
    "task-retention", Self.retention, .seconds, initial: Int(Retention().tasks),
    help: "How long a task is kept after its end; then it is deleted.")

  package let eventRetention = Setting.integer(
    "event-retention", Self.retention, .seconds, initial: Int(Retention().events),
    help: "How long an event is kept for replay; then it is deleted.")

  package let deliveryRetention = Setting.integer(
    "delivery-retention", Self.retention, .seconds, initial: Int(Retention().deliveries),
    help: "How long a webhook message is kept after its delivery succeeded or was given up.")

  package let webhookSchedule = Setting(
    "webhook-schedule", .list(item: "seconds", separators: ",", joint: ","),
    initial: WebhookDelivery.standardDelays,
    defaultText: WebhookSchedule.text(WebhookDelivery.standardDelays),
    help: "Seconds before each attempt to deliver a webhook message, the first included, as in `0,5,300`."
  ) { text throws(SettingFault) in try WebhookSchedule.delays(text) }

  package let maximumBodyBytes = Setting.optionalInteger(
    "maximum-body-bytes", 1...Int.max, .bytes, withoutValue: "no limit",
    help: "Disk space for the bodies of all finished tasks; beyond it, the oldest bodies are deleted.")

  /// The interval between two runs of the pruning job.
  package let retentionInterval = Setting.integer(
    "retention-interval", 1...86_400, .seconds, initial: 60, .hidden,
    help: "Pause between two runs of the job that prunes expired data.")

  package let discretionaryWindow = Setting.list(
    "discretionary-window", item: "window", separators: ", ", withoutValue: "always", .forWorker,
    help:
      "Time of day (UTC) at which tasks of sessions with isDiscretionary may run, as in `22:00-06:00`; may be repeated."
  ) { texts throws(SettingFault) in try DailyWindow.all(texts) }

  package let discretionaryMaximumLoad = Setting(
    "discretionary-maximum-load", .decimal, initial: Double?.none, .forWorker,
    help: "Load average of the last minute above which tasks of sessions with isDiscretionary wait."
  ) { text throws(SettingFault) in
    guard let load = Double(text), load >= 0, load.isFinite else {
      throw SettingFault("'\(text)' is not a load average; give a number of 0 or more, like 2.5")
    }
    return load
  }

  package let caFile = Setting.path(
    "ca-file", withoutValue: "the system's", .forWorker,
    help:
      "PEM file with the certificate authorities that verify origins and webhook endpoints; SIGHUP reads it again."
  )

  package let logLevel = Setting(
    "log-level", .choice(Logger.Level.allCases.map(\.rawValue)), initial: Logger.Level.info,
    defaultText: Logger.Level.info.rawValue, .forWorker, help: "Lowest level that is logged."
  ) { text throws(SettingFault) in
    guard let level = Logger.Level(rawValue: text) else {
      let known = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      throw SettingFault("'\(text)' is not a log level; use one of \(known)")
    }
    return level
  }

  package let newDatabase = Setting(
    "new-database", .flag, initial: false, defaultText: "false",
    help: """
      Create a new database if it is missing although bodies or files exist, and quarantine these; without this flag, the \
      service does not start.
      """
  ) { text throws(SettingFault) in
    guard let flag = Bool(text) else { throw SettingFault("'\(text)' is neither true nor false") }
    return flag
  }

  package let config = Setting.path(
    "config", places: [.commandLine, .environment], .forWorker,
    help: "JSON file with settings, named as the options or in camelCase.")

  /// The range of retentions in seconds, up to a hundred years.
  private static let retention = 1...3_153_600_000

  private init() {}

  package static let shared = Self()
  package static let all = Mirror(reflecting: shared).children.compactMap { $0.value as? any AnySetting }

  package static func named(_ name: String) -> (any AnySetting)? { byName[name] }
  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}
