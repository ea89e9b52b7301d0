import ArgumentParser
import EventLoop
import FerrySettings
import JSON

/// `ferry config`.
struct ConfigCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Show the settings that hold, and where each comes from.",
    discussion: """
      Takes the options of `ferry serve`, the environment and the file, and refuses what that would refuse. Secrets \
      are shown as <redacted>.
      """)

  @Flag(help: "As JSON: {\"settings\": [{\"name\", \"value\", \"source\", \"from\"}]}.")
  var json = false
  @OptionGroup var options: ServiceOptions

  func run() async throws {
    let report = SettingsReport(try await Settings.load(options.values))
    StandardOutput.write(json ? report.json + [0x0A] : Array(report.table.utf8))
  }
}
