internal import Ledger
internal import TransferModel

/// Writes changes, and rings for those who have something to do with them, once they hold.
struct Recorder: Sendable {
  let store: any Ledger
  let background: BackgroundCarrier?
  let outboxBell = Relay<Void>()

  /// Writes what has happened.
  /// - Parameter settled: called once it holds; with false where the session is another process's by now, and nothing is written.
  func record(_ change: StoreChange, settled: @escaping @Sendable (_ isWritten: Bool) -> Void = { _ in }) {
    let (hasMessages, hasCommands) = (!change.newDeliveries.isEmpty, !change.commands.isEmpty)
    guard hasMessages || hasCommands else { return store.record(change, settled: settled) }
    store.record(change) { [self] isWritten in
      settled(isWritten)
      if isWritten { ring(hasMessages, hasCommands) }
    }
  }

  /// Writes what a client asked for.
  /// - Parameter done: called once it is committed, or refused: then it leaves nothing.
  func write(_ change: StoreChange, done: @escaping @Sendable (StoreError?) -> Void) {
    let (hasMessages, hasCommands) = (!change.newDeliveries.isEmpty, !change.commands.isEmpty)
    store.commit(change) { [self] error in
      done(error)
      if error == nil { ring(hasMessages, hasCommands) }
    }
  }

  /// Writes what a client asked for; returns once it is committed, or fails and leaves nothing.
  func write(_ change: StoreChange) async throws(ServiceError) {
    do throws(StoreError) { try await store.write(change) } catch { throw .store(error) }
    ring(!change.newDeliveries.isEmpty, !change.commands.isEmpty)
  }

  /// Writes a change that depends on what `make` has read; makes it anew where others have changed that meanwhile: the client may know
  /// their version as well.
  func write<Result>(
    anew make: () async throws(ServiceError) -> (change: StoreChange, result: Result)
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
    throw .storeUnavailable("others change it all the time")
  }

  /// How often that is tried.
  private static let attempts = 100

  /// Returns when what was recorded so far is committed; fails where the disk does not take it now.
  func settle() async throws(ServiceError) { try await write(StoreChange()) }

  /// Returns when what was recorded so far is committed, however long that takes.
  func settleAtLast() async {
    await withCheckedContinuation { continuation in record(StoreChange()) { _ in continuation.resume() } }
  }

  private func ring(_ hasMessages: Bool, _ hasCommands: Bool) {
    if hasMessages { outboxBell.ring() }
    if hasCommands { background?.ring() }
  }
}
