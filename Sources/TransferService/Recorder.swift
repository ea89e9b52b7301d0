internal import TransferModel
internal import TransferStore

/// Writes changes, and rings for those who have something to do with them, once they hold.
struct Recorder: Sendable {
  let store: any TransferStore
  let background: BackgroundCarrier?
  let outboxBell = Relay<Void>()

  /// Writes what has happened.
  func record(_ change: StoreChange, committed: @escaping @Sendable () -> Void = {}) {
    let (hasMessages, hasCommands) = (!change.newDeliveries.isEmpty, !change.commands.isEmpty)
    guard hasMessages || hasCommands else { return store.record(change, committed: committed) }
    store.record(change) { [self] in
      committed()
      ring(hasMessages, hasCommands)
    }
  }

  /// Writes what a client asked for; returns once it is committed, or fails and leaves nothing.
  func write(_ change: StoreChange) async throws(ServiceError) {
    do throws(StoreError) { try await store.write(change) } catch { throw .store(error) }
    ring(!change.newDeliveries.isEmpty, !change.commands.isEmpty)
  }

  /// Returns when what was recorded so far is committed.
  func settle() async {
    await withCheckedContinuation { continuation in record(StoreChange()) { continuation.resume() } }
  }

  private func ring(_ hasMessages: Bool, _ hasCommands: Bool) {
    if hasMessages { outboxBell.ring() }
    if hasCommands { background?.ring() }
  }
}
