package import TransferModel

/// The state machine of one unfinished task, as its clients see it. A plain value.
///
/// The engine or the worker knows the state of the transfer itself. Commands and facts connect the two.
package struct TaskMachine: Sendable {
  /// The task as clients see it. A task that is ending is shown unfinished until its end is committed.
  package internal(set) var task: TransferTask
  /// The open decision. An idle task may have one about its start.
  package internal(set) var question: OpenDecision?
  var upload = TaskUpload.none
  /// `nil` unless the service retries the task.
  @IndirectOptional var attempt: ServiceAttempt?
  /// The number of changes so far.
  var revision = 0

  /// - Parameter place: the execution state of a new or recovered task.
  package init(_ task: TransferTask, at place: TaskExecutionState) {
    self.task = task
    self.task.executionState = place
  }

  var id: TaskID { task.id }

  package internal(set) var executionState: TaskExecutionState {
    get { task.executionState }
    set {
      assert(executionState.mayBecome(newValue), "invalid transition: \(executionState) to \(newValue)")
      task.executionState = newValue
    }
  }

  package var isCreating: Bool { if case .creating = executionState { true } else { false } }
  package var isEnding: Bool { if case .ending = executionState { true } else { false } }
  /// Whether the task is not submitted and has no open decision.
  var isIdle: Bool { if case .idle = executionState { question == nil } else { false } }
  /// Whether the task stays in memory for long: it is submitted or being placed, or has an open decision about its start.
  var isResident: Bool { executionState.isSubmitted || executionState == .placing || question != nil }

  /// Records that the engine has to stop the task. The caller settles the open decision first.
  mutating func leave() {
    assert(question == nil)
    executionState = .leaving
  }
}

/// The present attempt of a task that the service retries, or the wait for the next one. `RetryProgress` is the stored part.
struct ServiceAttempt: Sendable {
  /// A response that asks for a retry. Clients learn of it only if no other attempt follows.
  var heldResponse: TransferFact?
  /// Whether the delegate would have decided about the held response.
  var skippedDecision = false
  /// The earliest start of the next attempt. Changes of the wall clock do not affect it.
  var notBefore: ContinuousClock.Instant?
  /// Whether the task is the suspect on trial.
  var isOnTrial = false
}
