import ArgumentParser
import FerrySettings
import Logging

/// The command `ferry serve`.
struct ServeCommand: AsyncParsableCommand {
  private static let settings = SettingsCatalogue.shared
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run the service.",
    discussion: """
      Each option can also be given as an environment variable: FERRY_ and the option's name in capitals \
      (\(settings.dataDirectory.variable)). Or it is a member of the JSON file that \(settings.config.option) names, \
      with the option's name or in camelCase \
      ("\(settings.dataDirectory.name)" or "\(settings.dataDirectory.member)"). \
      An option overrides the environment, and the environment overrides the file. \
      Bearer tokens cannot be given as an option, only in the environment (\(settings.tokens.variable)), in the JSON file \
      ("\(settings.tokens.member)") or in a token file. \
      `ferry config` with the same options prints the effective settings.
      """)

  @OptionGroup var options: ServiceOptions

  func run() async throws {
    let settings = try await Settings.load(options.values)
    LoggingSystem.bootstrap { label in
      JSONLogHandler(label: label, logLevel: settings.logLevel)
    }
    try await FerryService(settings: settings).run()
  }
}
