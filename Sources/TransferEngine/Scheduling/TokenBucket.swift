/// A rate limit: over any time at most rate × time + `burst` + the largest chunk.
///
/// Pure. A chunk is taken whole and may leave a debt; the taker then waits until the debt is paid off. The balance is in attobytes: a rate
/// of one byte per second earns one attobyte in the unit of `Duration`, so nothing is rounded.
struct TokenBucket {
  private static let attobytesPerByte: Int128 = 1_000_000_000_000_000_000
  /// The cap of the debt, so that no sum overflows.
  private static let largestDebt = Int128(Int.max) * attobytesPerByte

  /// At least 1.
  let bytesPerSecond: Int
  /// The attobytes that may be taken at once; negative for a debt.
  private var balance: Int128
  private var last: ContinuousClock.Instant

  /// The bytes that an idle bucket saves: those of a tenth of a second, at least 1 KiB. A late timer then does not lower the rate.
  var burst: Int { max(bytesPerSecond / 10, 1024) }

  /// Creates a full bucket.
  /// - Parameter bytesPerSecond: A rate below 1 counts as 1.
  init(bytesPerSecond: Int, now: ContinuousClock.Instant) {
    self.bytesPerSecond = max(bytesPerSecond, 1)
    balance = 0
    last = now
    balance = capacity
  }

  /// Takes the bytes, whatever the balance.
  mutating func consume(_ count: Int, at now: ContinuousClock.Instant) {
    settle(at: now)
    balance = max(balance - Int128(max(count, 0)) * Self.attobytesPerByte, -Self.largestDebt)
  }

  /// Returns the time until the debt is paid off, to the attosecond; `nil` if there is none.
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
    // An overflow exceeds any debt and capacity together.
    return earned.overflow ? capacity : balance + min(earned.partialValue, capacity - balance)
  }
}
