/// How long a loop stood still that is to look at its deadlines once a period: with its process, or with the machine. What was sent to it
/// meanwhile came in time, though nobody has read it.
struct Standstill {
  private let period: Duration
  private var last: ContinuousClock.Instant?

  init(period: Duration) { self.period = period }

  /// To be called at each look.
  /// - Returns: what the deadlines are to be moved by.
  mutating func end(_ now: ContinuousClock.Instant) -> Duration {
    defer { last = now }
    guard let last else { return .zero }
    let rest = now - last - period
    return rest > period ? rest : .zero
  }
}
