package import TransferModel

/// What a session's machine is told: by clients, by whoever carries its tasks out, by clocks, and by the commits of its own turns.
package enum Input: Sendable {
  // MARK: Clients

  /// Creates tasks, all or none. They are a commit of their own, which may be refused. Until it is decided, whoever reads of them in the
  /// store finds them here.
  case create([NewTask])
  /// That commit holds. Clients may have their say before the tasks begin.
  case created([TaskID])
  /// It was refused: there are no such tasks, and no such messages.
  case refused([TaskID], messages: [DeliveryID])
  case resume(TaskID)
  case suspend(TaskID)
  case cancel(TaskID, keepsPartial: Bool)
  case change(TaskID, TaskPatch)
  /// - Parameters:
  ///   - shown: the answer as it is shown, JSON without secrets.
  ///   - tag: what tells the same answer from another, where it has secrets.
  case answer(TaskID, DecisionID, DecisionAnswer, shown: [UInt8], tag: [UInt8]?)
  /// A client is ready to send a streamed body, or has left before anything of it was wanted.
  case offer(TaskID, any BodyToken, length: Int64?)
  case withdraw(TaskID, any BodyToken)
  /// finishTasksAndInvalidate, and the first step of invalidateAndCancel.
  case invalidate
  /// Some of the tasks of a session that takes no more, or all tasks that are created from here on.
  case cancelTasks([TaskID])

  // MARK: Those who carry tasks out

  case fact(TransferFact)

  // MARK: Clocks

  /// Nobody has answered the decision of the task in time.
  case expired(TaskID, DecisionID)
  /// The task was created, or its begin date may have come.
  case begin(TaskID)

  // MARK: Commits and messages

  /// The commit in which these tasks ended holds.
  case endHolds([TaskID])
  /// The commits hold after which tasks can be evicted.
  case evict([Eviction])
  /// The session as it was read from its row. It comes before whatever needs more than the session's outline: `create`, `load` and
  /// `invalidate`.
  case restore(TransferSession)
  /// An evicted task as it was read from its row.
  case load(TransferTask)
  /// These messages were taken by their endpoints, or given up.
  case settled([DeliveryID])
  /// A message is about to be sent.
  case attempts(DeliveryID)

  // MARK: An earlier process

  /// A task that has not ended, with what was salvaged of it.
  /// - isAhead: its row does not say all of that, since bytes that it had got were moved.
  case recovered(TransferTask, isAhead: Bool = false)
  /// Its delegate agreed to its begin already.
  case hadBegun(TaskID)
  /// A decision that waits still, of a task that another process carries out; nil: a kind that nobody can answer any more.
  case waits(TaskID, DecisionID, number: Int?, Question.Kind?, seconds: Double)
  /// The other process has the task, and has come so far with it.
  case isElsewhere(TaskID, Elsewhere)
  /// What the other process has is known now; tasks that it has not were created, and not handed over.
  /// - Parameter except: those of which nobody can say.
  case allElsewhereKnown(except: Set<TaskID>)
  /// The recovery is complete: interrupted tasks start or end now. A recovery that failed is repeated, so it leaves their rows unchanged.
  case recoveredAll
  /// The session is to be another process's: what can go on there stops here.
  case leave
}

/// A task that a client wants.
package struct NewTask: Sendable {
  package let id: TaskID
  package var specification: TaskSpecification

  package init(id: TaskID, _ specification: TaskSpecification) {
    self.id = id
    self.specification = specification
  }
}

/// Which commands about a task the worker has received.
package struct Elsewhere: Sendable, Equatable {
  package let isSuspended: Bool
  package let isCancelled: Bool

  /// As the row says that the process writes.
  package init(_ state: WorkState) {
    (isSuspended, isCancelled) = (state.isSuspended, state.cancellation != nil)
  }
}

/// What whoever gave an input learns at once. What a client is told, it is told when the turn holds.
package enum Reply: Sendable {
  case done
  /// The task as it is after the input.
  case task(TransferTask)
  case session(TransferSession)
  /// The tasks, in the order in which they were asked for.
  case created([TransferTask])
  /// The task's row is being written: the input is for later.
  case creating
  /// It has to be read from its row first.
  case evicted
  /// The task has ended, its end is on its way, or there is none.
  case over
  case refused(Refusal)
}

/// Why an input changes nothing.
package enum Refusal: Error, Sendable, Equatable {
  /// The session takes no more tasks.
  case sessionInvalid
  case tooManyTasks(limit: Int)
  /// The texts of submitted tasks take as much memory as they may.
  case noRoom
  case upload(TaskUpload.Refusal)
  /// The decision is not the one that waits.
  case decisionSettled
}
