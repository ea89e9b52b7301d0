/// How a destination has responded so far, and how many attempts at once it therefore gets. A plain value.
struct DestinationHealth: Sendable, Equatable {
  /// Failures in a row after which the destination no longer counts as healthy.
  static let tolerance = 5
  /// Failures in a row that open the circuit if they have lasted for `openingTime`.
  static let openingFailures = 20
  static let openingTime = Duration.seconds(30)
  static let shortestPause = Duration.seconds(10)
  static let longestPause = Duration.seconds(300)

  private(set) var isHealthy = false
  private(set) var failures = 0
  private var failingSince: ContinuousClock.Instant?
  private var pause = shortestPause
  /// While the circuit is open, no attempt begins before this time.
  private(set) var openUntil: ContinuousClock.Instant?

  /// Whether the last attempt took so long that the next ones must not delay those to other destinations.
  private(set) var isSlow = false

  mutating func succeed(isSlow: Bool) {
    self = DestinationHealth(isHealthy: true)
    self.isSlow = isSlow
  }

  mutating func becomeSlow() { isSlow = true }

  init() {}
  init(isHealthy: Bool) { self.isHealthy = isHealthy }

  /// Whether the last attempts succeeded soon. Such a destination does not compete with others.
  var isProven: Bool { isHealthy && !isSlow }

  mutating func fail(at now: ContinuousClock.Instant) {
    failures += 1
    let since = failingSince ?? now
    failingSince = since
    if failures >= Self.tolerance { isHealthy = false }
    guard failures >= Self.openingFailures, now - since >= Self.openingTime else { return }
    openUntil = now + pause
    pause = min(pause * 2, Self.longestPause)
  }

  /// Whether the last attempts failed for so long that only one at a time is tried.
  var isOpen: Bool { openUntil != nil }
}
