/// The clocks of one transfer. Pure: the time comes with each call.
struct TransferClock {
  typealias Instant = ContinuousClock.Instant

  /// Which clock ran out.
  enum Verdict: Equatable {
    case resource
    case noByteMoved
    /// A stream's client has more to send, and does not.
    case noByteOfTheBody
  }
  /// What holds of the transfer now.
  struct State {
    var isOnWire: Bool
    var isHeld: Bool
    var isSuspended: Bool
    /// Bytes may move in both directions.
    var isFlowing: Bool
    /// All that it waits for is a stream's client.
    var waitsForClient: Bool
    /// It may stand behind a handshake that waits for the delegate.
    var mayWaitForOthers: Bool
  }

  /// How long a redirect's answer is read so that its connection can be used again.
  static let redirectGrace = Duration.seconds(1)

  private(set) var resourceDeadline: Instant
  private var lastActivity: Instant
  private var suspendedAt: Instant
  /// When a redirect's answer has had time enough to end.
  private var cutAt: Instant?

  init(timeoutForResource: Double, at now: Instant) {
    resourceDeadline = now + .seconds(timeoutForResource)
    lastActivity = now
    suspendedAt = now
  }

  mutating func touch(at now: Instant) { lastActivity = now }

  mutating func suspend(at now: Instant) { suspendedAt = now }

  /// A suspended task has no timeouts: the clocks go on from where they stood.
  mutating func resume(at now: Instant) {
    resourceDeadline += suspendedAt.duration(to: now)
    touch(at: now)
  }

  // MARK: A redirect's answer

  /// What is left of an answer may end quickly; else its connection goes.
  mutating func cutSoon(at now: Instant) { cutAt = now + Self.redirectGrace }
  mutating func forgetCut() { cutAt = nil }
  func mustCut(at now: Instant) -> Bool { cutAt.map { now >= $0 } ?? false }

  // MARK: Timeouts

  /// Why it must end now, where a clock ran out. While it is not the origin that everything waits for, the origin is not idle.
  func verdict(at now: Instant, idle timeout: Duration, _ state: State) -> Verdict? {
    guard !state.isSuspended else { return nil }
    guard now < resourceDeadline else { return .resource }
    // What is left of a redirect's answer has a limit of its own, after which the next request goes out.
    guard state.isOnWire, !state.isHeld, cutAt == nil, state.isFlowing || state.waitsForClient,
      now - lastActivity >= timeout, !state.mayWaitForOthers
    else { return nil }
    return state.isFlowing ? .noByteMoved : .noByteOfTheBody
  }
}
