package import TransferModel

/// The input of one attempt of a background task.
package struct Submission: Sendable {
  package let task: TransferTask
  package let session: TransferSession
  /// The seconds left of timeoutIntervalForResource.
  package let timeLeft: Double
  package let resumePoint: ResumePoint?
  /// The number of decisions requested for the task so far.
  package let questions: Int
  /// The number of the attempt.
  package let number: Int
}

/// The effects of one input to the worker's machine, as values. Effects are executed in order.
package struct WorkerEffects: Sendable {
  /// A command for the engine.
  package enum EngineCommand: Sendable {
    case submit(Submission)
    case command(TaskCommand, TaskID, SessionID)
    /// Deletes a file that an attempt left on disk.
    case remove(BlobKey)
    /// Executes the command that was passed as `WorkerInput.sessionCommand`.
    case sessionCommand(Int)
  }
  package enum TimerChange: Sendable, Equatable {
    /// The begin date of a task.
    case begin(TaskID, at: Timestamp)
    case cancelBegin(TaskID)
    /// The time of the next attempt.
    case retry(TaskID, at: ContinuousClock.Instant)
    /// The time at which the attempt is cleared of suspicion.
    case crashWindow(TaskID, attempt: Int, at: ContinuousClock.Instant)
  }

  package var random: RandomSource

  // MARK: In the commit

  /// The progress of tasks, each as it is at the end of the input.
  package private(set) var work: [(task: TaskID, session: SessionID, state: WorkState)] = []
  package internal(set) var finished: [TaskID] = []
  /// Facts for the service, in order.
  package var facts: [TransferFact] = []

  // MARK: After the commit is queued, in order

  package var engineCommands: [EngineCommand] = []
  package var timers: [TimerChange] = []

  // MARK: Once the commit has succeeded

  /// Attempts that wait for the commit. `WorkerInput.attemptCommitted` reports it to the machine.
  package var written: [(task: TaskID, attempt: Int)] = []

  package init(random: RandomSource) { self.random = random }

  package var isEmpty: Bool {
    work.isEmpty && finished.isEmpty && facts.isEmpty && engineCommands.isEmpty && timers.isEmpty
      && written.isEmpty
  }

  mutating func order(_ command: TaskCommand, of attempt: AttemptMachine) {
    engineCommands.append(.command(command, attempt.id, attempt.session.id))
  }

  mutating func keep(_ attempt: AttemptMachine) {
    let row = (attempt.task.id, attempt.session.id, attempt.state)
    if let last = work.indices.last, work[last].task == row.0 { work[last] = row } else { work.append(row) }
  }

  /// Schedules the time at which the attempt is cleared of suspicion.
  mutating func startCrashWindow(_ attempt: AttemptMachine, for time: Duration, at now: InputContext) {
    let time = attempt.state.crashesOften ? WorkerMachine.longestCrashWindow : time
    timers.append(
      .crashWindow(attempt.id, attempt: attempt.state.attempts, at: now.uptime.advanced(by: time)))
  }

  mutating func finish(_ task: TaskID) { finished.append(task) }
}
