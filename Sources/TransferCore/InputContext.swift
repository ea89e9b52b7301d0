package import TransferModel

/// The facts about the outside world at the time of an input.
package struct InputContext: Sendable {
  /// The wall clock, which may be set.
  package var wall: Timestamp
  /// The monotonic clock.
  package var uptime: ContinuousClock.Instant
  /// Whether an event stream is open that includes the session.
  package var hasListeners = false
  /// Whether an event stream is open that includes the task's progress.
  package var hasProgressListeners = false
  /// Whether the service is reachable and receives progress now.
  package var isServiceReachable = false
  /// The number of processes that ran or waited to run, averaged over the last minute (getloadavg(3)).
  package var load = 0.0

  package init(wall: Timestamp, uptime: ContinuousClock.Instant) {
    self.wall = wall
    self.uptime = uptime
  }
}
