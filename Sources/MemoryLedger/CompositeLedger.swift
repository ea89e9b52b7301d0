package import Ledger
internal import TransferModel

/// Two ledgers as one: the records of ephemeral sessions are in memory, all others in a durable ledger, which numbers the events of both.
///
/// A change is about one session (`StoreChange.owner`), or about none, and is written to one of the two.
package final class CompositeLedger: Ledger {
  let durable: any Ledger
  package let memory = MemoryLedger()

  package init(_ durable: any Ledger) { self.durable = durable }

  // MARK: Writing

  package func append(_ entry: CommitEntry) {
    let isInMemory = isInMemory(entry.change)
    assert(isWhole(entry.change, inMemory: isInMemory), "a change is about sessions of both ledgers")
    durable.append(isInMemory ? .numbered(entry, by: memory) : entry)
  }

  private func isInMemory(_ change: StoreChange) -> Bool {
    if change.pruning?.place == .memory { return true }
    guard let session = change.owner else { return false }
    if change.sessions.first?.type == .ephemeral { memory.add(session) }
    return memory.contains(session)
  }

  private func isWhole(_ change: StoreChange, inMemory: Bool) -> Bool {
    let sessions =
      change.sessions.map(\.id) + change.createdTasks.map(\.sessionID) + change.updatedTasks.map(\.sessionID)
      + change.respecifiedTasks.map(\.sessionID) + change.events.map(\.sessionID)
      + change.newDeliveries.map(\.sessionID) + change.updatedDeliveries.map(\.sessionID)
    let isOfDurable =
      !(change.newFiles.isEmpty && change.deletedFiles.isEmpty && change.configurations.isEmpty)
    return sessions.allSatisfy { memory.contains($0) == inMemory } && !(inMemory && isOfDurable)
  }

  // MARK: The durable ledger's

  package func follow() { durable.follow() }
  package var epoch: Epoch? { durable.epoch }
  package func ownership() async throws(StoreError) -> OwnershipTable { try await durable.ownership() }
  package var unreadable: UnreadableRows { durable.unreadable }
  package var refusal: StoreError? { durable.refusal }
  package var lastSequence: Int64 { durable.lastSequence }
  package var highestSequence: Int64 { durable.highestSequence }
  package func ping(_ answer: @escaping @Sendable () -> Void) { durable.ping(answer) }
  package func close() async {
    await durable.close()
    memory.close()
  }
}
