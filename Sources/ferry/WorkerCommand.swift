import ArgumentParser
import FerrySettings
import Logging

/// `ferry worker`.
struct WorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker", abstract: "Carry out the tasks of background sessions.",
    discussion: """
      ferry serve starts it when there are such tasks, and leaves it running when it stops; there is no need to start it \
      by hand. SIGTERM makes it write down how far it has come and end: the next one goes on from there.
      """)

  @Option(help: .hidden)
  var generation: String?
  @OptionGroup var engine: EngineOptions

  func run() async throws {
    let settings = try await Settings.load(engine.values, for: .worker)
    LoggingSystem.bootstrap { label in
      JSONLogHandler(label: label, logLevel: settings.logLevel)
    }
    try await WorkerService(settings: settings, generation: generation ?? Ferry.version).run()
  }
}
