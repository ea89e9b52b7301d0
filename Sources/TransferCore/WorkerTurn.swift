package import TransferModel

/// What an attempt of a background task begins with.
package struct Submission: Sendable {
  package let task: TransferTask
  package let session: TransferSession
  /// Seconds that are left of timeoutIntervalForResource.
  package let timeLeft: Double
  package let resumePoint: ResumePoint?
  /// How many questions were asked about the task so far.
  package let questions: Int
  /// Which attempt it is.
  package let number: Int
}

/// What one input to a worker's machine comes to, as values. Turns are carried out in order.
package struct WorkerTurn: Sendable {
  /// An order for the engine.
  package enum Order: Sendable {
    case submit(Submission)
    case command(TaskCommand, TaskID, SessionID)
    /// What an attempt left on the disk is of no use.
    case remove(BlobKey)
    /// What was given as an aside.
    case aside(Int)
  }
  package enum Alarm: Sendable, Equatable {
    /// The begin date of a task.
    case begin(TaskID, at: Timestamp)
    case cancelBegin(TaskID)
    /// The time of the next attempt.
    case retry(TaskID, at: ContinuousClock.Instant)
    /// An attempt has lived for long enough then.
    case proof(TaskID, attempt: Int, at: ContinuousClock.Instant)
  }

  package var random: RandomSource

  // MARK: In the commit

  /// How far tasks have come, each as it is at the end of the turn.
  package private(set) var work: [(task: TaskID, session: SessionID, state: WorkState)] = []
  package internal(set) var finished: [TaskID] = []
  /// Facts for the service, in order.
  package var facts: [TransferFact] = []

  // MARK: Behind it, in order

  package var orders: [Order] = []
  package var alarms: [Alarm] = []

  // MARK: Once it holds

  /// Attempts that wait for that: the machine is told by `WorkerInput.written`.
  package var written: [(task: TaskID, attempt: Int)] = []

  package init(random: RandomSource) { self.random = random }

  package var isEmpty: Bool {
    work.isEmpty && finished.isEmpty && facts.isEmpty && orders.isEmpty && alarms.isEmpty && written.isEmpty
  }

  mutating func order(_ command: TaskCommand, of attempt: AttemptMachine) {
    orders.append(.command(command, attempt.id, attempt.session.id))
  }

  mutating func keep(_ attempt: AttemptMachine) {
    let row = (attempt.task.id, attempt.session.id, attempt.state)
    if let last = work.indices.last, work[last].task == row.0 { work[last] = row } else { work.append(row) }
  }

  /// What lives for a while is not what others died of.
  mutating func watch(_ attempt: AttemptMachine, for time: Duration, at now: Now) {
    let time = attempt.state.crashesOften ? WorkerMachine.longestProof : time
    alarms.append(.proof(attempt.id, attempt: attempt.state.attempts, at: now.uptime.advanced(by: time)))
  }

  mutating func finish(_ task: TaskID) { finished.append(task) }
}
