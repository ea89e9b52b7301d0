import EventLoop
import Logging
import ServiceLifecycle

/// A service that notifies the service manager's watchdog while all parts respond.
struct WatchdogService: ServiceLifecycle.Service {
  /// The number of checks within the watchdog's time, so that a single late one is harmless.
  private static let beatsInTime = 3

  let liveness: LivenessProbe
  /// The watchdog's time limit; `nil` if there is no watchdog.
  let patience: Duration?
  let logger: Logger

  func run() async throws {
    guard let patience else {
      try? await gracefulShutdown()
      return
    }
    await cancelWhenGracefulShutdown { await beat(every: patience / Self.beatsInTime) }
  }

  private func beat(every interval: Duration) async {
    var known: [String] = []
    while !Task.isCancelled {
      let silent = liveness.check()
      if !silent.isEmpty, silent != known {
        logger.error(
          "parts of the service are unresponsive", metadata: ["parts": "\(silent.joined(separator: ", "))"])
      }
      known = silent
      try? await Task.sleep(for: interval)
    }
  }
}
