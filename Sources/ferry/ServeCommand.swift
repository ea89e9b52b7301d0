import ArgumentParser
import Logging

/// `ferry serve`.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run the service.",
    discussion: """
      Every option can also be given as an environment variable, FERRY_ and the option's name in capitals \
      (FERRY_DATA_DIRECTORY), or in a JSON file named by --config, with the option's name as member \
      ("dataDirectory" or "data-directory"). An option is stronger than the environment, and that than the file.
      """)

  @Option(help: "Address and port to listen on; port 0 takes a free one. [127.0.0.1:8080]")
  var listen: String?
  @Option(
    help:
      "File with bearer tokens, one a line, perhaps with a tenant before it. Without any, only this machine is served."
  )
  var tokenFile: String?
  @Option(
    help:
      "File with the secret (whsec_…) of webhooks that have none of their own. [made in the data directory]")
  var webhookSecretFile: String?
  @Option(help: "Bytes that the bodies of ephemeral sessions take together, in memory. [1073741824]")
  var maximumEphemeralBytes: Int?
  @Option(help: "Event loops for transfers. [1]")
  var workers: Int?
  @Option(help: "Connections of clients at once. [10000]")
  var maximumConnections: Int?
  @Option(help: "Seconds for which tasks are kept after their end. [2592000]")
  var taskRetention: Int?
  @Option(help: "Seconds for which events can be replayed. [604800]")
  var eventRetention: Int?
  @Option(help: "Seconds for which webhooks' messages are kept after they were taken or given up. [604800]")
  var deliveryRetention: Int?
  @Option(
    help: "Bytes that the bodies of finished tasks may take together; beyond, the oldest go first. [no limit]"
  )
  var maximumBodyBytes: Int?
  @Flag(help: "Begin anew where the database is missing: bodies and files that are there are set aside.")
  var newDatabase = false
  @Option(help: .hidden)
  var retentionInterval: Int?
  @OptionGroup var engine: EngineOptions

  func run() async throws {
    let settings = try Settings.checked(options, file: engine.config)
    LoggingSystem.bootstrap { label in
      JSONLogHandler(label: label, logLevel: settings.logLevel)
    }
    try await Service(settings: settings).run()
  }

  private var options: [String: String] {
    let own: [String: any OptionValue] = [
      "listen": listen, "token-file": tokenFile, "webhook-secret-file": webhookSecretFile,
      "maximum-ephemeral-bytes": maximumEphemeralBytes, "workers": workers,
      "maximum-connections": maximumConnections, "task-retention": taskRetention,
      "event-retention": eventRetention, "delivery-retention": deliveryRetention,
      "maximum-body-bytes": maximumBodyBytes, "retention-interval": retentionInterval,
      "new-database": newDatabase ? true : nil as Bool?,
    ]
    return engine.values.merging(own.compactMapValues { $0.text }) { $1 }
  }
}
