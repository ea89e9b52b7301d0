package import TransferModel

/// A generator of ascending ids. Each id is greater than the one before, even within a millisecond: the fraction of the clock serves as a
/// counter (RFC 9562 §6.2). The same seed and times produce the same ids.
package struct IdentifierGenerator: Sendable {
  /// The time of the newest id: milliseconds, and their fraction in the low twelve bits.
  private var last: UInt64 = 0
  private var random: RandomSource

  /// - Parameter seed: a random number, so that no other generator makes the same ids.
  package init(seed: UInt64) { random = RandomSource(seed: seed) }

  package mutating func make<Kind>(_ kind: ID<Kind>.Type = ID<Kind>.self, at time: Timestamp) -> ID<Kind> {
    let microseconds = UInt64(clamping: time.microseconds)
    let clock = (microseconds / 1000) << 12 | (microseconds % 1000) * 4096 / 1000
    last = max(clock, last + 1)
    return ID(instant: last, random: random.next())
  }

  /// Returns a random number from 0 to less than 1.
  mutating func fraction() -> Double { random.fraction() }
}
