import ArgumentParser
import FerrySettings
import Logging

/// `ferry serve`.
struct ServeCommand: AsyncParsableCommand {
  private static let settings = SettingsCatalogue.shared
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run the service.",
    discussion: """
      Every option can also be given as an environment variable, FERRY_ and the option's name in capitals \
      (\(settings.dataDirectory.variable)), or in a JSON file named by \(settings.config.option), \
      with the option's name as member \
      ("\(settings.dataDirectory.member)" or "\(settings.dataDirectory.name)"). \
      An option is stronger than the environment, and that than the file. \
      Bearer tokens themselves can be given in the environment or the file only \
      (\(settings.tokens.variable), "\(settings.tokens.member)"). \
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
