internal import Synchronization

/// One party waits, others say that it may go on; whoever says so first counts.
final class Waiter: Sendable {
  private enum State {
    case idle
    case waiting(CheckedContinuation<Void, Never>)
    case done
  }
  private let state = Mutex(State.idle)

  func wait() async {
    await withCheckedContinuation { continuation in
      let isDone = state.withLock { state in
        if case .done = state { return true }
        state = .waiting(continuation)
        return false
      }
      if isDone { continuation.resume() }
    }
  }

  func resume() {
    let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
      defer { state = .done }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume()
  }
}
