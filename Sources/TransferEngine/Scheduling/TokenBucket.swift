/// Holds bytes to a rate: over any time at most rate × time + `burst` + the largest chunk.
///
/// Pure. A chunk is taken whole and may leave a debt; the taker then waits until it is paid off. The balance is kept in
/// attobytes, of which a rate of one byte per second earns one in the unit of `Duration`, so nothing is ever rounded.
struct TokenBucket {
  private static let attobytesPerByte: Int128 = 1_000_000_000_000_000_000
  /// What the debt is capped at, so that no sum overflows.
  private static let largestDebt = Int128(Int.max) * attobytesPerByte

  /// At least 1.
  let bytesPerSecond: Int
  /// Attobytes that may be taken at once; negative for a debt.
  private var balance: Int128
  private var last: ContinuousClock.Instant

  /// Bytes that an idle bucket saves up: a tenth of a second's, at least 1 KiB, so that a late timer costs no rate.
  var burst: Int { max(bytesPerSecond / 10, 1024) }

  /// A full bucket.
  /// - Parameter bytesPerSecond: a rate below 1 counts as 1.
  init(bytesPerSecond: Int, now: ContinuousClock.Instant) {
    self.bytesPerSecond = max(bytesPerSecond, 1)
    balance = 0
    last = now
    balance = capacity
  }

  /// Takes the bytes, whatever the balance.
  mutating func take(_ count: Int, at now: ContinuousClock.Instant) {
    settle(at: now)
    balance = max(balance - Int128(max(count, 0)) * Self.attobytesPerByte, -Self.largestDebt)
  }

  /// How long until the debt is paid off, to the attosecond; nil where there is none and more may be taken.
  func delay(at now: ContinuousClock.Instant) -> Duration? {
    let balance = balance(at: now)
    guard balance < 0 else { return nil }
    let rate = Int128(bytesPerSecond)
    return Duration(attoseconds: (rate - 1 - balance) / rate)
  }

  private var capacity: Int128 { Int128(burst) * Self.attobytesPerByte }

  private mutating func settle(at now: ContinuousClock.Instant) {
    balance = balance(at: now)
    last = max(last, now)
  }

  private func balance(at now: ContinuousClock.Instant) -> Int128 {
    guard now > last else { return balance }
    let earned = last.duration(to: now).attoseconds.multipliedReportingOverflow(by: Int128(bytesPerSecond))
    // What overflows is more than any debt and capacity together.
    return earned.overflow ? capacity : balance + min(earned.partialValue, capacity - balance)
  }
}
