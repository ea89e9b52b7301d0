internal import Synchronization

/// Lets one in at a time, and the others wait.
final class Turns: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [Waiter] = []
  }
  private let state = Mutex(State())

  /// Does something in its turn.
  func take<Result, Failure: Error>(
    _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    while let waiter = enter() { await waiter.wait() }
    defer { leave() }
    return try await body()
  }

  /// - Returns: what to wait for before the next try; nil: the turn is the caller's.
  private func enter() -> Waiter? {
    state.withLock { state in
      guard state.isTaken else {
        state.isTaken = true
        return nil
      }
      let waiter = Waiter()
      state.waiting.append(waiter)
      return waiter
    }
  }

  private func leave() {
    let waiting = state.withLock { state in
      defer { state = State() }
      return state.waiting
    }
    for waiter in waiting { waiter.resume() }
  }
}
