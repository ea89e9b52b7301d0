import Testing

/// One requirement of every ledger. The test target of an implementation runs all cases.
package struct ConformanceCase: Sendable, CustomTestStringConvertible {
  package let testDescription: String
  package let run: @Sendable (LedgerKind) async throws -> Void

  init(_ name: String, _ run: @escaping @Sendable (LedgerKind) async throws -> Void) {
    testDescription = name
    self.run = run
  }

  /// The cases for a durable ledger with a memory ledger.
  package static let ephemeral = EphemeralConformance.cases

  package static let all =
    DecisionConformance.cases
    + SessionRecordsConformance.cases
    + OwnershipConformance.cases
    + QueueConformance.cases
    + RetentionConformance.cases
    + SessionDeletionConformance.cases
    + SharedLedgerConformance.cases
    + RecordConformance.cases
    + DeliveryConformance.cases
    + TaskListConformance.cases
    + GroupConformance.cases
}
