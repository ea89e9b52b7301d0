/// The time limits of a request's body. libmicrohttpd's own timeout restarts with every byte.
///
/// The clock is stopped while the server does not read, since the client does not cause that pause.
struct RequestBodyTimer {
  private var lastByte: ContinuousClock.Instant?
  private var periodStart: ContinuousClock.Instant?
  private var bytesInPeriod = 0
  private var stoppedAt: ContinuousClock.Instant?

  mutating func start(_ now: ContinuousClock.Instant) {
    guard lastByte == nil else { return }
    (lastByte, periodStart) = (now, now)
  }

  mutating func stop(_ now: ContinuousClock.Instant) {
    if stoppedAt == nil { stoppedAt = now }
  }

  mutating func resume(_ now: ContinuousClock.Instant) {
    guard let stopped = stoppedAt else { return }
    stoppedAt = nil
    excludeFreeze(now - stopped)
  }

  mutating func didReceive(_ bytes: Int, _ now: ContinuousClock.Instant) {
    guard bytes > 0, lastByte != nil else { return }
    lastByte = now
    bytesInPeriod += bytes
  }

  /// Moves the times forward by a pause in which the server read nothing.
  mutating func excludeFreeze(_ standstill: Duration) {
    lastByte? += standstill
    periodStart? += standstill
  }

  /// Returns the violated limit; `nil` if the client is fast enough. Call this function about once a second.
  mutating func fault(_ timeouts: BodyTimeouts, _ now: ContinuousClock.Instant) -> RequestFault? {
    guard stoppedAt == nil, let lastByte, let periodStart else { return nil }
    guard now - lastByte <= timeouts.silence else {
      return .bodyStalled(seconds: Int(timeouts.silence.components.seconds))
    }
    guard let least = timeouts.bytesInPeriod, now - periodStart >= timeouts.period else { return nil }
    guard bytesInPeriod >= least else {
      return .bodyTooSlow(bytes: least, seconds: Int(timeouts.period.components.seconds))
    }
    (self.periodStart, bytesInPeriod) = (now, 0)
    return nil
  }
}
