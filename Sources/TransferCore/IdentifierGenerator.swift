package import TransferModel

/// Makes ids in an order: each is greater than the one before, also within a millisecond (RFC 9562 §6.2, the clock's fraction as a
/// counter). The same seed and the same times give the same ids.
package struct IdentifierGenerator: Sendable {
  /// Milliseconds and, in the low twelve bits, the fraction of the newest id.
  private var last: UInt64 = 0
  private var random: RandomSource

  /// - Parameter seed: random, so that no other generator makes the same ids.
  package init(seed: UInt64) { random = RandomSource(seed: seed) }

  package mutating func make<Kind>(_ kind: ID<Kind>.Type = ID<Kind>.self, at time: Timestamp) -> ID<Kind> {
    let microseconds = UInt64(clamping: time.microseconds)
    let clock = (microseconds / 1000) << 12 | (microseconds % 1000) * 4096 / 1000
    last = max(clock, last + 1)
    return ID(instant: last, random: random.next())
  }
}
