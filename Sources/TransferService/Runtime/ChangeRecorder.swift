internal import Ledger
package import TransferModel

/// Writes changes and, after the commit, wakes the webhook dispatcher and the worker if the change concerns them.
struct ChangeRecorder: Sendable {
  let store: any Ledger
  let background: WorkerSessionRegistry?
  /// Receives new messages after their commit.
  let newDeliveries = LateBoundCallback<[WebhookDelivery]>()
  let outboxChanged = LateBoundCallback<OutboxChange>()

  /// Records something that has happened. The ledger tries until the change is committed.
  /// - Parameter settled: called after the commit, or with `false` if another service owns the session now and the change was
  ///   dropped.
  func record(_ change: LedgerChange, settled: @escaping @Sendable (_ isWritten: Bool) -> Void = { _ in }) {
    let (messages, hasCommands) = (change.newDeliveries, !change.commands.isEmpty)
    guard !messages.isEmpty || hasCommands else { return store.record(change, settled: settled) }
    store.record(change) { [self] isWritten in
      settled(isWritten)
      if isWritten { notify(messages, hasCommands) }
    }
  }

  /// Writes what a client asked for.
  /// - Parameter done: called after the commit, or with the error if nothing was written.
  func write(_ change: LedgerChange, done: @escaping @Sendable (LedgerError?) -> Void) {
    let (messages, hasCommands) = (change.newDeliveries, !change.commands.isEmpty)
    store.commit(change) { [self] error in
      done(error)
      if error == nil { notify(messages, hasCommands) }
    }
  }

  /// Writes what a client asked for. Returns after the commit; if it throws, nothing was written.
  func write(_ change: LedgerChange) async throws(ServiceError) {
    do throws(LedgerError) { try await store.write(change) } catch { throw .store(error) }
    notify(change.newDeliveries, !change.commands.isEmpty)
  }

  /// Writes a change that depends on values read by `make`. If another request changed these values meanwhile, calls `make`
  /// again, so that the client's If-Match is compared with the new version.
  func write<Result>(
    anew make: () async throws(ServiceError) -> (change: LedgerChange, result: Result)
  ) async throws(ServiceError) -> Result {
    for _ in 0..<Self.attempts {
      let (change, result) = try await make()
      do throws(ServiceError) {
        try await write(change)
        return result
      } catch .preconditionFailed {
        continue
      }
    }
    throw .storeUnavailable("the row changed during every attempt")
  }

  /// The limit of such attempts.
  private static let attempts = 100

  /// Returns when all changes recorded so far are committed. Throws if the ledger cannot be written now.
  func flush() async throws(ServiceError) { try await write(LedgerChange()) }

  /// Returns when all changes recorded so far are committed, however long that takes.
  func waitForCommits() async {
    await withCheckedContinuation { continuation in record(LedgerChange()) { _ in continuation.resume() } }
  }

  private func notify(_ messages: [WebhookDelivery], _ hasCommands: Bool) {
    if !messages.isEmpty { newDeliveries.deliver(messages) }
    if hasCommands { background?.wakeWorker() }
  }
}

/// A change of the messages that the dispatcher has to send, other than new messages of this service.
package enum OutboxChange: Sendable {
  /// Shards are arriving. The ledger may have earlier messages of their tasks.
  case shardsArrive
  case shardsArrived
  /// A message is to be sent again now. If it was pending, others may have waited for it.
  case redelivered(WebhookDelivery)
  /// The ledger may have messages to these destinations that are not in memory.
  case arrived([PendingDestination])
  /// The ledger may have messages to any destination that are not in memory.
  case isUnknown
}
