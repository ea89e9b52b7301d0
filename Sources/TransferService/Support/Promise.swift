internal import Synchronization

/// A value that one task waits for. Only the first `resume` counts.
final class Promise<Value: Sendable>: Sendable {
  private enum State {
    case idle
    case waiting(CheckedContinuation<Value, Never>)
    case done(Value)
  }
  private let state = Mutex(State.idle)

  /// Returns the value. Call it once.
  func wait() async -> Value {
    await withCheckedContinuation { continuation in
      let value: Value? = state.withLock { state in
        if case .done(let value) = state { return value }
        state = .waiting(continuation)
        return nil
      }
      if let value { continuation.resume(returning: value) }
    }
  }

  func resume(returning value: Value) {
    let continuation: CheckedContinuation<Value, Never>? = state.withLock { state in
      switch state {
      case .idle: state = .done(value)
      case .waiting(let continuation):
        state = .done(value)
        return continuation
      case .done: break
      }
      return nil
    }
    continuation?.resume(returning: value)
  }
}
