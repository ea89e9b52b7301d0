/// The clocks of one transfer. Pure: the time comes with each call.
struct TransferClock {
  typealias Instant = ContinuousClock.Instant

  /// The clock that ran out.
  enum Timeout: Equatable {
    case resource
    case idle
    /// The client that streams the body has stopped sending.
    case bodyStalled
  }
  /// The transfer's current state.
  struct State {
    var isOnWire: Bool
    var isHeld: Bool
    var isSuspended: Bool
    /// Whether bytes may move in both directions.
    var isFlowing: Bool
    /// Whether the transfer waits only for the client that streams the body.
    var waitsForClient: Bool
    /// Whether the transfer may wait for a connection whose handshake waits for the delegate.
    var mayWaitForOthers: Bool
  }

  /// The time in which a redirect's response may end, so that its connection can be used again.
  static let redirectGrace = Duration.seconds(1)

  private(set) var resourceDeadline: Instant
  private var lastActivity: Instant
  private var suspendedAt: Instant
  /// The time at which a redirect's response is cut off.
  private var cutAt: Instant?

  init(timeoutForResource: Double, at now: Instant) {
    resourceDeadline = now + .seconds(timeoutForResource)
    lastActivity = now
    suspendedAt = now
  }

  mutating func touch(at now: Instant) { lastActivity = now }

  mutating func suspend(at now: Instant) { suspendedAt = now }

  /// Ends a suspension, in which the timeouts did not run.
  mutating func resume(at now: Instant) {
    resourceDeadline += suspendedAt.duration(to: now)
    touch(at: now)
  }

  // MARK: A redirect's response

  /// Gives the rest of a response a short time to end. After that its connection is closed.
  mutating func cutSoon(at now: Instant) { cutAt = now + Self.redirectGrace }
  mutating func forgetCut() { cutAt = nil }
  func mustCut(at now: Instant) -> Bool { cutAt.map { now >= $0 } ?? false }

  // MARK: Timeouts

  /// Returns the clock that ran out; `nil` if none did. The idle timeout runs only while the transfer waits for the origin or for the
  /// client that streams the body.
  func timeout(at now: Instant, idle timeout: Duration, _ state: State) -> Timeout? {
    guard !state.isSuspended else { return nil }
    guard now < resourceDeadline else { return .resource }
    // The rest of a redirect's response has a limit of its own, after which the next request is sent.
    guard state.isOnWire, !state.isHeld, cutAt == nil, state.isFlowing || state.waitsForClient,
      now - lastActivity >= timeout, !state.mayWaitForOthers
    else { return nil }
    return state.isFlowing ? .idle : .bodyStalled
  }
}
