/// How long a client may still take to send a request's body. libmicrohttpd's own timeout starts anew with every byte.
///
/// The clock stands still while the server does not read, since that is not the client's doing.
struct BodyClock {
  private var deadline: ContinuousClock.Instant?
  private var stoppedAt: ContinuousClock.Instant?

  mutating func start(seconds: Int, _ now: ContinuousClock.Instant) {
    if deadline == nil { deadline = now + .seconds(seconds) }
  }

  mutating func stop(_ now: ContinuousClock.Instant) {
    if stoppedAt == nil { stoppedAt = now }
  }

  mutating func goOn(_ now: ContinuousClock.Instant) {
    guard let stopped = stoppedAt else { return }
    stoppedAt = nil
    deadline? += now - stopped
  }

  /// Bytes that came earn time for those that follow.
  mutating func credit(_ bytes: Int, perSecond rate: Int) {
    deadline? += .nanoseconds(bytes * 1_000_000_000 / rate)
  }

  /// Nobody read for so long.
  mutating func forgive(_ standstill: Duration) { deadline? += standstill }

  func isOver(_ now: ContinuousClock.Instant) -> Bool {
    guard stoppedAt == nil, let deadline else { return false }
    return now > deadline
  }
}
