package import TransferModel

/// The inputs of a session's machine: from clients, from the engine or the worker, from clocks, and from the commits of earlier effects.
package enum SessionInput: Sendable {
  // MARK: Clients

  /// Creates all of these tasks or none, in a commit of their own, which may be refused. Readers that find a new row early also find its
  /// task here.
  case create([NewTask])
  /// Reports that the commit of new tasks succeeded. Clients may act on the tasks before they begin.
  case created([TaskID])
  /// Reports that the commit of new tasks was refused: these tasks and messages do not exist.
  case refused([TaskID], messages: [DeliveryID])
  case resume(TaskID)
  case suspend(TaskID)
  case cancel(TaskID, keepsPartial: Bool)
  case change(TaskID, TaskPatch)
  /// Starts the next attempt of a waiting task now. Does nothing to other tasks.
  case retryNow(TaskID)
  /// - Parameters:
  ///   - shown: the answer as clients see it: JSON without secrets.
  ///   - tag: a digest that distinguishes answers with secrets; `nil` if the answer has none.
  case answer(TaskID, DecisionID, DecisionAnswer, shown: [UInt8], tag: [UInt8]?)
  /// Reports that the answer of a webhook was not applied. An open decision then gets its default.
  case rejectAnswer(TaskID, DecisionID, reason: String)
  /// Announces that a client is ready to send a streamed body. `withdraw` reports that the client left before any byte was read.
  case offer(TaskID, any BodyToken, length: Int64?)
  case withdraw(TaskID, any BodyToken)
  /// finishTasksAndInvalidate, and the first step of invalidateAndCancel.
  case invalidate
  /// Cancels some tasks of a session that is being cancelled.
  case cancelTasks([TaskID])

  // MARK: Engine and worker

  case fact(TransferFact)
  /// Reports the result of a step with the file of a destination.
  case placement(TaskID, PlacementReport)

  // MARK: Clocks

  /// Reports that the decision of a task expired without an answer.
  case decisionExpired(TaskID, DecisionID)
  /// Starts a task that was just created, or whose begin date may have come.
  case begin(TaskID)
  /// Starts a suspect whose turn it is.
  case trialBegan(TaskID)
  /// Reports that the attempt of a suspected task has lasted for a while.
  case crashWindowPassed(TaskID)

  // MARK: Commits and messages

  /// Reports that the ends of these tasks are committed.
  case endsCommitted([TaskID])
  /// Reports that the commits are done that made these tasks evictable.
  case evict([Eviction])
  /// Supplies the session as read from its row. It precedes every input that needs more than the outline: `create`, `load` and
  /// `invalidate`.
  case restore(TransferSession)
  /// Supplies an evicted task as read from its row.
  case load(TransferTask)
  /// Reports messages that were delivered or given up.
  case settled([DeliveryID])
  /// Reports that an attempt of a message is about to begin.
  case attempts(DeliveryID)

  // MARK: Recovery

  /// Adds an unfinished task, with the parts of it that could be recovered.
  /// - isAhead: Whether the task differs from its row, because a partial file was moved.
  case recovered(TransferTask, isAhead: Bool = false)
  /// Reports that the start of the task was announced to its delegate, or approved by it.
  case beginApproved(TaskID)
  /// Restores an open decision of a task that the worker has. The kind is `nil` if the decision can no longer be answered.
  case recoverDecision(TaskID, DecisionID, number: Int?, OpenDecision.Kind?, seconds: Double)
  /// Reports that the worker has the task, and which commands about the task it received.
  case isAtWorker(TaskID, ReceivedCommands)
  /// Reports that the tasks of the worker are known. All other tasks were created but not submitted.
  /// - Parameter except: tasks that the worker knows, and tasks whose rows could not be read.
  case workerTasksKnown(except: Set<TaskID>)
  /// Completes the recovery: interrupted tasks start or end now. A recovery that failed is repeated, so it leaves their rows unchanged.
  case recoveredAll
  /// Prepares the handover of the session to another service: tasks that can continue there stop here.
  case prepareHandover
}

/// A task that a client wants to create.
package struct NewTask: Sendable {
  package let id: TaskID
  package var specification: TaskSpecification

  package init(id: TaskID, _ specification: TaskSpecification) {
    self.id = id
    self.specification = specification
  }
}

/// The commands about a task that the worker has received.
package struct ReceivedCommands: Sendable, Equatable {
  package let isSuspended: Bool
  package let isCancelled: Bool

  /// Reads them from the row that the worker writes.
  package init(_ state: WorkState) {
    (isSuspended, isCancelled) = (state.isSuspended, state.cancellation != nil)
  }
}

/// The immediate result of an input. Clients get their answers only after the effects are committed.
package enum InputResult: Sendable {
  case done
  /// The task after the input.
  case task(TransferTask)
  case session(TransferSession)
  /// The created tasks, in the order of the request.
  case created([TransferTask])
  /// The commit of the task's creation is pending. Repeat the input later.
  case creating
  /// The task must be loaded from its row first.
  case evicted
  /// The task has ended, is ending, or does not exist.
  case ended
  case refused(InputRefusal)
}

/// The reason why an input was refused.
package enum InputRefusal: Error, Sendable, Equatable {
  /// The session is invalid, so it refuses new tasks.
  case sessionInvalid
  case tooManyTasks(limit: Int)
  /// The texts of submitted tasks have reached their memory limit.
  case noRoom
  case upload(TaskUpload.Refusal)
  case requestInUse(RequestChangeRefusal)
  /// The decision was settled earlier, or does not exist.
  case decisionSettled
}
