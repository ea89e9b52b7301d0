package import Ledger
internal import TransferModel

/// Two ledgers as one: memory for the records of ephemeral sessions, and a durable ledger for all others. The durable ledger numbers the
/// events of both.
///
/// A change belongs to one session (`LedgerChange.owner`) or to none, and is written to one of the two ledgers.
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
    guard isNew || !memory.isEmpty, let session = entry.change.owner else { return false }
    if isNew { memory.add(session) }
    return memory.contains(session)
  }

  private func isWhole(_ change: LedgerChange, inMemory: Bool) -> Bool {
    let sessions =
      change.sessions.map(\.id) + change.createdTasks.map(\.sessionID) + change.updatedTasks.map(\.sessionID)
      + change.editedTasks.map(\.sessionID) + change.events.map(\.sessionID)
      + change.newDeliveries.map(\.sessionID) + change.updatedDeliveries.map(\.sessionID)
      + change.newDecisions.map(\.sessionID) + change.settledDecisions.map(\.sessionID)
      + change.lastIdentifiers.keys + (change.deletedTasks.isEmpty ? [] : [change.owner].compactMap { $0 })
      + [
        change.repliedSession, change.deletedSession, change.partlyDeletedSession,
        change.sessionOfDeletedBodies,
      ].compactMap {
        $0
      }
    var durable = LedgerChange()
    durable.ownership = change.ownership
    (durable.newFiles, durable.deletedFiles) = (change.newFiles, change.deletedFiles)
    (durable.endpoints, durable.deletedEndpoints) = (change.endpoints, change.deletedEndpoints)
    (durable.configurations, durable.deletedConfigurations) = (
      change.configurations, change.deletedConfigurations
    )
    (durable.commands, durable.work, durable.workerReports) = (
      change.commands, change.work, change.workerReports
    )
    (durable.takenCommands, durable.finishedWork, durable.consumedReports) = (
      change.takenCommands, change.finishedWork, change.consumedReports
    )
    return sessions.allSatisfy { memory.contains($0) == inMemory } && !(inMemory && !durable.isEmpty)
  }

  // MARK: Members of the durable ledger

  package func publishRemoteCommits() { durable.publishRemoteCommits() }
  package var epoch: Epoch? { durable.epoch }
  package func ownership() async throws(LedgerError) -> OwnershipTable { try await durable.ownership() }
  package var unreadable: UnreadableRows { durable.unreadable }
  package var refusal: LedgerError? { durable.refusal }
  package var lastSequence: Int64 { durable.lastSequence }
  package var highestSequence: Int64 { durable.highestSequence }
  package func ping(_ answer: @escaping @Sendable () -> Void) { durable.ping(answer) }
  package func close() async {
    await durable.close()
    memory.close()
  }
}
