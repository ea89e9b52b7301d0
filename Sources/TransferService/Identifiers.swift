internal import Synchronization
package import TransferModel

/// Makes new ids: each greater than the one before, also within a millisecond, so that lists keep the order of
/// creation (RFC 9562 §6.2, the clock's fraction as a counter).
package final class IdentifierSource: Sendable {
  package let now: @Sendable () -> Timestamp
  /// Milliseconds and, in the low twelve bits, the fraction of the newest id.
  private let last = Mutex<UInt64>(0)
  private let random: @Sendable () -> UInt64

  /// - Parameter random: the part of an id that nobody can guess; a world that is simulated has its own.
  package init(
    now: @escaping @Sendable () -> Timestamp,
    random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }
  ) {
    self.now = now
    self.random = random
  }

  package func make<Kind>(_ kind: ID<Kind>.Type = ID<Kind>.self) -> ID<Kind> {
    let microseconds = UInt64(clamping: now().microseconds)
    let clock = (microseconds / 1000) << 12 | (microseconds % 1000) * 4096 / 1000
    let instant = last.withLock { last in
      last = max(clock, last + 1)
      return last
    }
    return ID(instant: instant, random: random())
  }
}
