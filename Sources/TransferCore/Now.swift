package import TransferModel

/// What a machine knows of the world at the moment of an input.
package struct Now: Sendable {
  /// The clock on the wall, which may be set.
  package var wall: Timestamp
  /// A clock that nobody sets.
  package var uptime: ContinuousClock.Instant
  /// Whether an event stream is open that tells of the session.
  package var isHeard = false
  /// Whether an event stream is open that tells of the task's progress.
  package var isWatched = false
  /// Whether the service is there, and hears of progress now.
  package var isServiceThere = false
  /// Processes that ran or waited to, on average over the last minute (getloadavg(3)).
  package var load = 0.0

  package init(wall: Timestamp, uptime: ContinuousClock.Instant) {
    self.wall = wall
    self.uptime = uptime
  }
}
