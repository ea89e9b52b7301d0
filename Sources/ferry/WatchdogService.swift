import EventLoop
import Logging
import ServiceLifecycle

/// Says that the service lives, as long as all of its parts answer.
struct WatchdogService: ServiceLifecycle.Service {
  /// One that comes late is not the end yet.
  private static let beatsInTime = 3

  let pulse: Pulse
  /// After which silence the service is taken for dead; nil: nobody listens.
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
      let silent = pulse.beat()
      if !silent.isEmpty, silent != known {
        logger.error("does not answer", metadata: ["parts": "\(silent.joined(separator: ", "))"])
      }
      known = silent
      try? await Task.sleep(for: interval)
    }
  }
}
