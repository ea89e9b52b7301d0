/// URLSessionTask.State.
package enum TaskState: String, Sendable, CaseIterable {
  case running, suspended, canceling, completed
}

/// The activity of a running task.
package enum TaskPhase: String, Sendable, CaseIterable {
  case queued, waitingForConnectivity, waitingForDecision, waitingToRetry, transferring
}

/// The life cycle of a task as in URLSession: created suspended, nested suspensions, one end.
///
/// A plain value: each call returns the action that follows.
package struct TaskLifecycle: Sendable, Equatable {
  package enum Action: Sendable, Equatable {
    case none
    /// Submit the task to the engine, or resume it.
    case run
    /// Stop transferring bytes. The connection may stay open.
    case pause
    /// Stop for good. The end follows later.
    case cancel
    /// Report the end to the delegate.
    case complete
  }

  package private(set) var state: TaskState = .suspended
  /// The number of `resume()` calls before the task runs. A new task starts with one.
  package private(set) var suspendCount = 1

  package init() {}
  /// Restores the life cycle of a stored task.
  package init(state: TaskState, suspendCount: Int) {
    self.state = state
    self.suspendCount = suspendCount
  }

  package mutating func resume() -> Action {
    guard state == .suspended else { return .none }
    suspendCount -= 1
    guard suspendCount == 0 else { return .none }
    state = .running
    return .run
  }

  package mutating func suspend() -> Action {
    switch state {
    case .suspended:
      suspendCount += 1
      return .none
    case .running:
      suspendCount = 1
      state = .suspended
      return .pause
    case .canceling, .completed: return .none
    }
  }

  package mutating func cancel() -> Action {
    guard state == .running || state == .suspended else { return .none }
    state = .canceling
    return .cancel
  }

  package mutating func complete() -> Action {
    guard state != .completed else { return .none }
    state = .completed
    return .complete
  }
}
