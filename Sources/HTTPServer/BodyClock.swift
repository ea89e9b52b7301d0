/// Whether a client sends a request's body fast enough. libmicrohttpd's own timeout starts anew with every byte.
///
/// The clock stands still while the server does not read, since that is not the client's doing.
struct BodyClock {
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

  mutating func goOn(_ now: ContinuousClock.Instant) {
    guard let stopped = stoppedAt else { return }
    stoppedAt = nil
    forgive(now - stopped)
  }

  mutating func note(_ bytes: Int, _ now: ContinuousClock.Instant) {
    guard bytes > 0, lastByte != nil else { return }
    lastByte = now
    bytesInPeriod += bytes
  }

  /// Nobody read for so long.
  mutating func forgive(_ standstill: Duration) {
    lastByte? += standstill
    periodStart? += standstill
  }

  /// The violated limit; nil if the client is fast enough. Call it about once a second.
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
