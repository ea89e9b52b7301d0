/// The rate limits of one transfer: its own and its session's. Used on its transfer loop.
struct RateLimits {
  private var own: TokenBucket?
  private let shared: SharedRateLimit?

  init(own bytesPerSecond: Int?, shared: SharedRateLimit?, at now: ContinuousClock.Instant) {
    own = bytesPerSecond.map { TokenBucket(bytesPerSecond: $0, now: now) }
    self.shared = shared
  }

  var areAny: Bool { own != nil || shared != nil }

  /// Starts with a new bucket: the debt from a higher rate would cause a long pause at a lower one.
  mutating func setOwn(_ bytesPerSecond: Int?, at now: ContinuousClock.Instant) {
    own = bytesPerSecond.map { TokenBucket(bytesPerSecond: $0, now: now) }
  }

  /// Returns the time until bytes may move again; `nil` if they may move now.
  func debt(at now: @autoclosure () -> ContinuousClock.Instant) -> Duration? {
    guard areAny else { return nil }
    let now = now()
    let (own, shared) = (own?.delay(at: now), shared?.bucket.delay(at: now))
    guard let own, let shared else { return own ?? shared }
    return max(own, shared)
  }

  /// Counts bytes that have moved.
  mutating func charge(_ count: Int, at now: @autoclosure () -> ContinuousClock.Instant) {
    guard areAny else { return }
    let now = now()
    own?.consume(count, at: now)
    shared?.bucket.consume(count, at: now)
  }
}

/// A limit that all transfers of a session share.
final class SharedRateLimit {
  var bucket: TokenBucket
  init(bytesPerSecond: Int) { bucket = TokenBucket(bytesPerSecond: bytesPerSecond, now: .now) }
}
