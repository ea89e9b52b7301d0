internal import Synchronization

/// A lock that a task may hold while it awaits. It admits one task at a time.
package final class AsyncMutex: Sendable {
  private struct State {
    var isLocked = false
    var waiting: [Waiter] = []
  }
  private let state = Mutex(State())

  package init() {}

  package func withLock<Result, Failure: Error>(
    _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    while let waiter = lock() { await waiter.wait() }
    defer { unlock() }
    return try await body()
  }

  /// Tries to take the lock.
  /// - Returns: the waiter to await before the next try; `nil` if the caller has the lock.
  private func lock() -> Waiter? {
    state.withLock { state in
      guard state.isLocked else {
        state.isLocked = true
        return nil
      }
      let waiter = Waiter()
      state.waiting.append(waiter)
      return waiter
    }
  }

  private func unlock() {
    let waiting = state.withLock { state in
      defer { state = State() }
      return state.waiting
    }
    for waiter in waiting { waiter.resume() }
  }
}
