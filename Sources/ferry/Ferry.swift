import ArgumentParser

/// The command line: one subcommand, one file.
@main
struct Ferry: AsyncParsableCommand {
  static let version = "0.1.0"
  static let configuration = CommandConfiguration(
    commandName: "ferry", abstract: "URLSession for every program, as a REST service.",
    version: VersionText.text,
    subcommands: [
      ServeCommand.self, WorkerCommand.self, StopCommand.self, HealthCommand.self, RotateKeyCommand.self,
    ])
}
