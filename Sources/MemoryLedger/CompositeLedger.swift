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
    let isInMemory = isInMemory(entry)
    assert(isWhole(entry.change, inMemory: isInMemory), "a change mixes records of both ledgers")
    durable.append(isInMemory ? .numbered(entry, by: memory) : entry)
  }

  private func isInMemory(_ entry: CommitEntry) -> Bool {
    if entry.prunedPlace == .memory { return true }
    let isNew = entry.sessionType == .ephemeral
    guard isNew || !memory.knowsNoSession, let session = entry.change.owner else { return false }
    if isNew { memory.add(session) }
    return memory.contains(session)
  }

  private func isWhole(_ change: StoreChange, inMemory: Bool) -> Bool {
    let sessions =
      change.sessions.map(\.id) + change.createdTasks.map(\.sessionID) + change.updatedTasks.map(\.sessionID)
      + change.respecifiedTasks.map(\.sessionID) + change.events.map(\.sessionID)
      + change.newDeliveries.map(\.sessionID) + change.updatedDeliveries.map(\.sessionID)
      + change.newDecisions.map(\.sessionID) + change.settledDecisions.map(\.sessionID)
      + change.lastIdentifiers.keys
      + [change.repliedSession, change.deletedSession, change.thinnedSession, change.wipedSession].compactMap
    {
      $0
    }
    var durable = StoreChange()
    durable.ownership = change.ownership
    (durable.newFiles, durable.deletedFiles) = (change.newFiles, change.deletedFiles)
    (durable.configurations, durable.deletedConfigurations) = (
      change.configurations, change.deletedConfigurations
    )
    (durable.commands, durable.work, durable.news) = (change.commands, change.work, change.news)
    (durable.takenCommands, durable.finishedWork, durable.takenNews) = (
      change.takenCommands, change.finishedWork, change.takenNews
    )
    return sessions.allSatisfy { memory.contains($0) == inMemory } && !(inMemory && !durable.isEmpty)
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
