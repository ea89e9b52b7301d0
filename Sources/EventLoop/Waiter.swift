internal import Synchronization

/// A one-time signal for one waiting task.
package final class Waiter: Sendable {
  private enum State {
    case idle, done
    case waiting(CheckedContinuation<Void, Never>)
  }
  private let state = Mutex(State.idle)

  package init() {}

  /// Returns after the first `resume()`, which may come earlier. Call this function once.
  package func wait() async {
    await withCheckedContinuation { continuation in
      let isDone = state.withLock { state in
        if case .done = state { return true }
        state = .waiting(continuation)
        return false
      }
      if isDone { continuation.resume() }
    }
  }

  package func resume() {
    let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
      defer { state = .done }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume()
  }
}
