import ArgumentParser
import FerrySettings
import Logging

/// The command `ferry worker`.
struct WorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker", abstract: "Carry out the tasks of background sessions.",
    discussion: """
      `ferry serve` starts the worker if there are such tasks, and leaves it running when the service stops; you need not start \
      it by hand. At SIGTERM the worker stores its progress and ends; the next worker continues from there.
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
