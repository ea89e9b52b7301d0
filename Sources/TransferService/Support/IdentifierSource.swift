internal import Synchronization
internal import TransferCore
package import TransferModel

/// Makes ids, each greater than the previous one, and has the clock that they use. Safe to call from any thread.
package final class IdentifierSource: Sendable {
  package let now: @Sendable () -> Timestamp
  private let generator: Mutex<IdentifierGenerator>

  /// - Parameter seed: random, so that two sources never make the same ids.
  package init(seed: UInt64 = .random(in: 0 ... .max), now: @escaping @Sendable () -> Timestamp) {
    generator = Mutex(IdentifierGenerator(seed: seed))
    self.now = now
  }

  package func make<Kind>(_ kind: ID<Kind>.Type = ID<Kind>.self) -> ID<Kind> {
    generator.withLock { $0.make(at: now()) }
  }
}
