import ArgumentParser

/// What `ferry serve` and `ferry worker` both have to know.
struct EngineOptions: ParsableArguments {
  @Option(help: "Directory for the database and the bodies. [ferry-data]")
  var dataDirectory: String?
  @Option(help: "A network that transfers and webhooks may reach although it is not public; may be repeated.")
  var allowNetwork: [String] = []
  @Option(
    help:
      "What kind of network an interface is, as wwan*=cellular or eth1=expensive,constrained; may be repeated."
  )
  var interfaceClass: [String] = []
  @Option(
    help:
      "File with the base64 of 32 bytes that protect stored secrets and resume data. [made in the data directory]"
  )
  var secretKeyFile: String?
  @Option(help: "Largest body, in bytes, that is kept in the database instead of a file. [32768]")
  var smallBodyLimit: Int?
  @Option(help: "Largest body of a response, in bytes. [1099511627776]")
  var maximumBodySize: Int?
  @Option(help: "Transfers at once, of each worker. [4096]")
  var maximumTransfers: Int?
  @Option(help: "Credentials of a task that may be refused before it ends with attemptLimitReached. [10]")
  var maximumAuthenticationAttempts: Int?
  @Option(
    help:
      "When discretionary tasks may run, as 22:00-06:00 (UTC); may be repeated. [always]")
  var discretionaryWindow: [String] = []
  @Option(help: "Load average of a minute above which discretionary tasks do not run. [none]")
  var discretionaryMaximumLoad: Double?
  @Option(help: "PEM file of the certificate authorities that origins are checked against. [the system's]")
  var caFile: String?
  @Option(help: "trace, debug, info, notice, warning, error or critical. [info]")
  var logLevel: String?
  @Option(help: "JSON file with options.")
  var config: String?

  /// What was given, by the options' names.
  var values: [String: String] {
    let all: [String: any OptionValue] = [
      "data-directory": dataDirectory, "allow-network": allowNetwork, "interface-class": interfaceClass,
      "secret-key-file": secretKeyFile, "small-body-limit": smallBodyLimit,
      "maximum-body-size": maximumBodySize, "maximum-transfers": maximumTransfers,
      "maximum-authentication-attempts": maximumAuthenticationAttempts,
      "discretionary-window": discretionaryWindow,
      "discretionary-maximum-load": discretionaryMaximumLoad, "ca-file": caFile, "log-level": logLevel,
    ]
    return all.compactMapValues { $0.text }
  }
}

/// An option as the environment and the file would give it.
protocol OptionValue {
  /// nil where it was not given.
  var text: String? { get }
}

extension Optional: OptionValue where Wrapped: LosslessStringConvertible {
  var text: String? { map { String($0) } }
}

extension [String]: OptionValue {
  var text: String? { isEmpty ? nil : joined(separator: " ") }
}
