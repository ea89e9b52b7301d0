/// URLSessionTask.State.
package enum TaskState: String, Sendable, CaseIterable {
  case running, suspended, canceling, completed
}

/// What a running task is doing.
package enum TaskPhase: String, Sendable, CaseIterable {
  case queued, waitingForConnectivity, waitingForDecision, waitingToRetry, transferring
}

/// The life of a task as URLSession knows it: created suspended, nested suspensions, one end.
///
/// Pure: each call returns what is to be done about it.
package struct TaskLifecycle: Sendable, Equatable {
  package enum Action: Sendable, Equatable {
    case none
    /// Hand it to the engine, or let it go on.
    case run
    /// Stop moving bytes; the connection may stay.
    case pause
    /// Stop for good; the end is still to come.
    case cancel
    /// The end: tell the delegate.
    case complete
  }

  package private(set) var state: TaskState = .suspended
  /// How many `resume()` calls are owed before it runs. A new task starts with one.
  package private(set) var suspendCount = 1

  package init() {}
  /// The life of a task that a store remembers.
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
