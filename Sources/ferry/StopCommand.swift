import ArgumentParser
import Commands
import EventLoop
import FerrySettings
import Processes

/// The command `ferry stop`.
struct StopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "Stop the service of a data directory, and wait until it has ended.",
    discussion: """
      The service finishes running requests and ends, as at SIGTERM. The worker of background sessions keeps running, unless \
      --worker stops it, too. A stopped worker stores its progress, and the worker of the next service continues from there. \
      The exit status is 3 if nothing runs. \(LocalService.help)
      """)
  /// The exit status if nothing runs, as of `systemctl status` and init scripts.
  private static let nothingRuns = ExitCode(3)

  struct DirectoryOptions: SettingOptions {
    @Option(\.dataDirectory) var dataDirectory: String?
    @Option(\.config) var config: String?
  }

  @OptionGroup var place: DirectoryOptions
  @Option(help: "Seconds to wait until the service and the worker have ended, from 1 to 86400.")
  var timeout = 30
  @Flag(help: "Stop the worker of background sessions, too.")
  var worker = false

  func validate() throws {
    guard (1...86_400).contains(timeout) else {
      throw ValidationError("timeout: '\(timeout)' is not a number of seconds between 1 and 86400")
    }
  }

  func run() async throws {
    let settings = try await Settings.load(place.values, for: .maintenance, local: .standard)
    let directory = settings.dataDirectory
    guard UsableDirectory.isSearchable(directory) else {
      throw StartError(
        \.dataDirectory, "\(settings.namedDirectory) cannot be searched by this user; use sudo")
    }
    let deadline = ContinuousClock.now + .seconds(timeout)
    // Services of an earlier version lock the directory itself.
    let owners =
      [DirectoryLock.owner(of: directory)].compactMap(\.self) + ProcessRegistration.owners(in: directory)
    // The worker is stopped even if the reports cannot be written.
    var failure: CommandFailure?
    func say(_ text: String) {
      do throws(CommandFailure) { try CommandOutput.write(Array((text + "\n").utf8)) } catch {
        failure = failure ?? error
      }
    }
    for owner in owners { say(try await stop("service", owner, settings, before: deadline)) }
    if owners.isEmpty { say("no service runs in \(settings.namedDirectory)") }
    var hasStopped = !owners.isEmpty
    if worker {
      // The worker stops after the service, which would otherwise start another.
      if let owner = ProcessLock.owner(path: WorkerFiles(settings).lock) {
        say(try await stop("worker", owner, settings, before: deadline))
        hasStopped = true
      } else {
        say("no worker runs in \(settings.namedDirectory)")
      }
    }
    if let failure { throw failure }
    guard hasStopped else { throw Self.nothingRuns }
  }

  /// Stops a process and returns the report.
  private func stop(
    _ name: String, _ owner: ProcessLock.Owner, _ settings: Settings, before deadline: ContinuousClock.Instant
  ) async throws -> String {
    let directory = settings.namedDirectory
    guard let process = owner.process else {
      throw StopFailure(
        "the \(name) of \(directory) (\(owner.pid)) has just ended, or runs in another container; stop it there"
      )
    }
    let code = process.send(.terminate)
    guard code == 0 || process.hasEnded else {
      throw StopFailure(
        "the \(name) of \(directory) (\(owner.pid)) cannot be sent SIGTERM: \(ProcessHandle.text(ofError: code)); use sudo"
      )
    }
    guard await process.end(before: deadline) else {
      throw StopFailure(
        "the \(name) of \(directory) (\(owner.pid)) has not ended within \(timeout) seconds; try a longer --timeout"
      )
    }
    return "stopped the \(name) (\(owner.pid)) of \(directory)"
  }
}

private struct StopFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
