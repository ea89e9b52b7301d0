internal import Synchronization
internal import TransferModel

/// The deletion of any number of blobs, with a limited number of calls in flight.
final class BlobDeletion: Sendable {
  static let mostInFlight = 16

  private struct State {
    /// The index of the key that is deleted next.
    var next = 0
    var inFlight = 0
    /// Whether `run` has returned because the limit was reached.
    var isPaused = false
  }

  private let keys: [BlobKey]
  private let store: any BlobStore
  private let done: @Sendable () -> Void
  private let state = Mutex(State())

  /// Prepares the deletion.
  /// - Parameter done: called once, when every call has completed.
  init(_ keys: [BlobKey], in store: any BlobStore, _ done: @escaping @Sendable () -> Void) {
    self.keys = keys
    self.store = store
    self.done = done
  }

  func run() {
    guard !keys.isEmpty else { return done() }
    while let key = nextKey() { store.delete(key) { _ in self.completed() } }
  }

  private func nextKey() -> BlobKey? {
    state.withLock { state in
      guard state.next < keys.count else { return nil }
      guard state.inFlight < Self.mostInFlight else {
        state.isPaused = true
        return nil
      }
      defer { state.next += 1 }
      state.inFlight += 1
      return keys[state.next]
    }
  }

  private func completed() {
    let (mustRun, isDone) = state.withLock { state in
      defer { state.isPaused = false }
      state.inFlight -= 1
      return (state.isPaused, state.inFlight == 0 && state.next == keys.count)
    }
    if mustRun { run() }
    if isDone { done() }
  }
}
