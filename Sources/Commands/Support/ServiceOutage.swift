internal import FerryClient
internal import Limits

/// The time in which a service cannot be reached. A command reports its beginning, and does not wait without an end.
struct ServiceOutage {
  private var start: ContinuousClock.Instant?

  /// Reports the first failure. Throws when the outage has taken too long.
  mutating func note(_ error: ServiceError, at now: ContinuousClock.Instant = .now) throws(CommandFailure) {
    guard let start else {
      start = now
      return ErrorOutput.write("\(error); trying again")
    }
    guard now - start < .seconds(ClientLimits.outageSeconds.value) else { throw CommandFailure(error) }
  }
}
