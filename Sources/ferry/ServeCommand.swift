import ArgumentParser
import FerrySettings
import Logging

/// `ferry serve`.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run the service.",
    discussion: """
      Every option can also be given as an environment variable, FERRY_ and the option's name in capitals \
      (FERRY_DATA_DIRECTORY), or in a JSON file named by --config, with the option's name as member \
      ("dataDirectory" or "data-directory"). An option is stronger than the environment, and that than the file. \
      Bearer tokens themselves can be given in the environment or the file only (FERRY_TOKENS, "tokens"). \
      `ferry config` with the same options shows what holds.
      """)

  @OptionGroup var options: ServiceOptions

  func run() async throws {
    let settings = try await Settings.load(options.values)
    LoggingSystem.bootstrap { label in
      JSONLogHandler(label: label, logLevel: settings.logLevel)
    }
    try await Service(settings: settings).run()
  }
}
