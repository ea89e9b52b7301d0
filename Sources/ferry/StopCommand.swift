import Processes
import ArgumentParser
import EventLoop
import FerrySettings

/// `ferry stop`.
struct StopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "Stop the service of a data directory, and wait until it has gone.",
    discussion: """
      The service answers what is under way and ends, as at SIGTERM. The worker of background sessions goes on without it, \
      unless --worker ends that, too: it writes down how far it has come, and the next service's goes on from there. \
      The exit status is 3 if nothing runs. \(LocalService.help)
      """)
  /// The exit status that says that nothing ran: the one of `systemctl status` and of init scripts.
  private static let nothingRuns = ExitCode(3)

  struct Place: SettingOptions {
    @Option(\.dataDirectory) var dataDirectory: String?
    @Option(\.config) var config: String?
  }

  @OptionGroup var place: Place
  @Option(help: "Seconds to wait for the end of all of it. [30]")
  var timeout = 30
  @Flag(help: "The worker of background sessions as well.")
  var worker = false

  func validate() throws {
    guard (1...86_400).contains(timeout) else {
      throw ValidationError("timeout: '\(timeout)' is not a number between 1 and 86400")
    }
  }

  func run() async throws {
    let settings = try await Settings.load(place.values, for: .maintenance, local: .standard)
    let directory = settings.dataDirectory
    guard UsableDirectory.isSearchable(directory) else {
      throw StartError(
        \.dataDirectory, "\(settings.namedDirectory) cannot be searched by this user: use sudo")
    }
    let deadline = ContinuousClock.now + .seconds(timeout)
    // An earlier version keeps the directory for itself.
    let owners = [DirectoryLock.owner(of: directory)].compactMap(\.self) + ProcessPlace.owners(in: directory)
    for owner in owners { try await stop("service", owner, settings, before: deadline) }
    if owners.isEmpty { say("no service runs in \(settings.namedDirectory)") }
    var hasStopped = !owners.isEmpty
    if worker {
      // Not before: the service would start another.
      if let owner = ProcessLock.owner(path: WorkerPlaces(settings).lock) {
        try await stop("worker", owner, settings, before: deadline)
        hasStopped = true
      } else {
        say("no worker runs in \(settings.namedDirectory)")
      }
    }
    guard hasStopped else { throw Self.nothingRuns }
  }

  private func stop(
    _ name: String, _ owner: ProcessLock.Owner, _ settings: Settings, before deadline: ContinuousClock.Instant
  ) async throws {
    let directory = settings.namedDirectory
    guard let process = owner.process else {
      throw StopFailure(
        "the \(name) of \(directory) (\(owner.pid)) cannot be seen from here: it has just ended, or runs in another container"
      )
    }
    let code = process.send(.terminate)
    guard code == 0 || process.hasEnded else {
      throw StopFailure(
        "the \(name) of \(directory) (\(owner.pid)) cannot be asked to stop: \(ProcessHandle.text(ofError: code))"
      )
    }
    guard await process.end(before: deadline) else {
      throw StopFailure("the \(name) of \(directory) (\(owner.pid)) has not ended within \(timeout) seconds")
    }
    say("stopped the \(name) (\(owner.pid)) of \(directory)")
  }

  private func say(_ text: String) { StandardOutput.write(Array((text + "\n").utf8)) }
}

private struct StopFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
