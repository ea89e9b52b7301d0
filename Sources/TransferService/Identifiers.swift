package import TransferModel

/// Makes new ids.
package struct IdentifierSource: Sendable {
  package var now: @Sendable () -> Timestamp
  package init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

  package func make<Kind>(_ kind: ID<Kind>.Type = ID<Kind>.self) -> ID<Kind> {
    var generator = SystemRandomNumberGenerator()
    return ID(at: now(), random: (generator.next(), generator.next()))
  }
}
