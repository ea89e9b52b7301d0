import ArgumentParser
import Commands
import FerrySettings
import JSON

/// The command `ferry config`.
struct ConfigCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Print the effective settings and the source of each.",
    discussion: """
      Reads the options of `ferry serve`, the environment and the file, and reports the same errors. \(LocalService.help) \
      Secrets are printed as <redacted>.
      """)

  @Flag(help: "Print JSON: {\"settings\": [{\"name\", \"value\", \"source\", \"from\"}]}.")
  var json = false
  @Flag(help: "Print the limits, fixed and adjustable, instead of the settings.")
  var limits = false
  @OptionGroup var options: ServiceOptions

  func run() async throws {
    guard !limits else {
      return try CommandOutput.write(json ? LimitsReport().json + [0x0A] : Array(LimitsReport().table.utf8))
    }
    let settings = try await Settings.load(options.values, local: .standard)
    try settings.checkDestinations()
    let report = SettingsReport(settings)
    try CommandOutput.write(json ? report.json + [0x0A] : Array(report.table.utf8))
  }
}
