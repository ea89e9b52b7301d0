import Testing

/// One thing that every ledger does. The test target of an implementation runs all cases.
package struct ConformanceCase: Sendable, CustomTestStringConvertible {
  package let testDescription: String
  package let run: @Sendable (LedgerKind) async throws -> Void

  init(_ name: String, _ run: @escaping @Sendable (LedgerKind) async throws -> Void) {
    testDescription = name
    self.run = run
  }

  /// Cases that hold for a durable ledger with another one in memory.
  package static let ephemeral = EphemeralConformance.cases

  package static let all =
    DecisionConformance.cases
    + KeptConformance.cases
    + OwnershipConformance.cases
    + QueueConformance.cases
    + RetentionConformance.cases
    + SessionDeletionConformance.cases
    + SharedLedgerConformance.cases
    + RecordConformance.cases
}
