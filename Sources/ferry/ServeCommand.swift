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
  @Option(help: "Directory for the database and the bodies. [ferry-data]")
  var dataDirectory: String?
  @Option(help: "A network that transfers and webhooks may reach although it is not public; may be repeated.")
  var allowNetwork: [String] = []
  @Option(
    help:
      "What kind of network an interface is, as wwan*=cellular or eth1=expensive,constrained; may be repeated."
  )
  var interfaceClass: [String] = []
  @Option(help: "File with bearer tokens, one a line. Without any, only this machine is served.")
  var tokenFile: String?
  @Option(
    help:
      "File with the secret (whsec_…) of webhooks that have none of their own. [made in the data directory]")
  var webhookSecretFile: String?
  @Option(
    help:
      "File with the base64 of 32 bytes that protect stored secrets and resume data. [made in the data directory]"
  )
  var secretKeyFile: String?
  @Option(help: "Largest body, in bytes, that is kept in the database instead of a file. [32768]")
  var smallBodyLimit: Int?
  @Option(help: "Largest body of a response, in bytes. [1099511627776]")
  var maximumBodySize: Int?
  @Option(help: "Bytes that the bodies of ephemeral sessions take together, in memory. [1073741824]")
  var maximumEphemeralBytes: Int?
  @Option(help: "Transfers at once, of each worker. [4096]")
  var maximumTransfers: Int?
  @Option(help: "Event loops for transfers. [1]")
  var workers: Int?
  @Option(help: "Connections of clients at once. [10000]")
  var maximumConnections: Int?
  @Option(help: "Credentials of a task that may be refused before it ends with attemptLimitReached. [10]")
  var maximumAuthenticationAttempts: Int?
  @Option(help: "PEM file of the certificate authorities that origins are checked against. [the system's]")
  var caFile: String?
  @Option(help: "trace, debug, info, notice, warning, error or critical. [info]")
  var logLevel: String?
  @Option(help: "JSON file with options.")
  var config: String?

  func run() async throws {
    let settings: Settings
    do {
      settings = try Settings(
        options: options, networks: allowNetwork, interfaces: interfaceClass, file: config)
    } catch let error as SettingsError {
      throw ValidationError(error.description)
    }
    LoggingSystem.bootstrap { label in
      JSONLogHandler(label: label, logLevel: settings.logLevel)
    }
    try await Service(settings: settings).run()
  }

  private var options: [String: String] {
    var texts: [String: String?] = [
      "listen": listen, "data-directory": dataDirectory, "token-file": tokenFile,
      "webhook-secret-file": webhookSecretFile, "secret-key-file": secretKeyFile,
      "ca-file": caFile, "log-level": logLevel,
    ]
    let numbers: [String: Int?] = [
      "small-body-limit": smallBodyLimit, "maximum-body-size": maximumBodySize,
      "maximum-ephemeral-bytes": maximumEphemeralBytes, "maximum-transfers": maximumTransfers,
      "workers": workers, "maximum-connections": maximumConnections,
      "maximum-authentication-attempts": maximumAuthenticationAttempts,
    ]
    for (name, number) in numbers { texts[name] = number.map { String($0) } }
    return texts.compactMapValues { $0 }
  }
}
