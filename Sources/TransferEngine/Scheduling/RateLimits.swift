/// What limits the bytes of one transfer: its own rate, and its session's. On the loop of its worker.
struct RateLimits {
  private var own: TokenBucket?
  private let shared: SharedLimit?

  init(own bytesPerSecond: Int?, shared: SharedLimit?, at now: ContinuousClock.Instant) {
    own = bytesPerSecond.map { TokenBucket(bytesPerSecond: $0, now: now) }
    self.shared = shared
  }

  var areAny: Bool { own != nil || shared != nil }

  /// A new bucket: what the old one owed at its own rate would be a long silence at a lower one.
  mutating func setOwn(_ bytesPerSecond: Int?, at now: ContinuousClock.Instant) {
    own = bytesPerSecond.map { TokenBucket(bytesPerSecond: $0, now: now) }
  }

  /// How long until bytes may move again; nil where they may now.
  func debt(at now: @autoclosure () -> ContinuousClock.Instant) -> Duration? {
    guard areAny else { return nil }
    let now = now()
    let (own, shared) = (own?.delay(at: now), shared?.bucket.delay(at: now))
    guard let own, let shared else { return own ?? shared }
    return max(own, shared)
  }

  /// Bytes have moved.
  mutating func charge(_ count: Int, at now: @autoclosure () -> ContinuousClock.Instant) {
    guard areAny else { return }
    let now = now()
    own?.take(count, at: now)
    shared?.bucket.take(count, at: now)
  }
}

/// A limit that all of a session's transfers on one loop share.
final class SharedLimit {
  var bucket: TokenBucket
  init(bytesPerSecond: Int) { bucket = TokenBucket(bytesPerSecond: bytesPerSecond, now: .now) }
}
