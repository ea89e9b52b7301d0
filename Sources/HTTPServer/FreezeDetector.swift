/// Detects that the loop was frozen, with its process or with the machine. Bytes that clients sent meanwhile count as received in time.
struct FreezeDetector {
  private let period: Duration
  private var last: ContinuousClock.Instant?

  init(period: Duration) { self.period = period }

  /// Records a check of the deadlines. Call this function once a period.
  /// - Returns: the time by which deadlines must move.
  mutating func check(_ now: ContinuousClock.Instant) -> Duration {
    defer { last = now }
    guard let last else { return .zero }
    let rest = now - last - period
    return rest > period ? rest : .zero
  }
}
