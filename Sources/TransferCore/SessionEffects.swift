package import TransferModel

/// The effects of one input to a session's machine, as values. The effects of a session are executed in order.
///
/// Each part has its time. It is written *in the commit*, or follows *after the commit is queued*, in order and without waiting, or follows
/// *once the commit has succeeded*.
package struct SessionEffects: Sendable {
  /// A settled decision.
  package struct DecisionOutcome: Sendable, Equatable {
    package let id: DecisionID
    package let task: TaskID
    package let state: Decision.State
    /// The answer as clients see it, as JSON without secrets, and a digest that distinguishes it from others; `nil` without an answer.
    package var answer: [UInt8]?
    package var tag: [UInt8]?
  }
  /// A new decision. Its event contains the decision.
  package struct NewDecision: Sendable {
    package let event: TransferEvent
    /// The number of the decision within its task, for the engine or the worker; `nil` if the service requested it.
    package let number: Int?
  }
  package enum TimerChange: Sendable, Equatable {
    /// The expiry of a decision. Changes of the wall clock do not affect it.
    case decision(DecisionID, of: TaskID, afterSeconds: Double)
    /// The begin date of a task.
    case begin(TaskID, at: Timestamp)
    case cancelDecision(DecisionID, of: TaskID)
    case cancelBegin(TaskID)
    /// The time of the next attempt. It shares its timer with `begin`. Changes of the wall clock do not affect it.
    case retry(TaskID, afterSeconds: Double)
    /// The time at which the task's attempt is cleared of suspicion.
    case crashWindow(TaskID, after: Duration)
    case cancelCrashWindow(TaskID)
  }
  /// A change in the queue of suspects, which are tried one at a time (`CrashGuard`).
  package enum TrialChange: Sendable, Equatable {
    /// - Parameter deaths: the number of services that ended in a row while they ran the task.
    case wanted(TaskID, deaths: Int)
    case over(TaskID)
  }
  /// The data to delete after the session became invalid.
  package enum SessionCleanup: Sendable, Equatable {
    /// Deletes its connections, and its credentials that are not permanent.
    case keepsStored
    /// Deletes the same, and removes those credentials from the ledger, which had stored them for the worker.
    case background
    /// Deletes everything.
    case ephemeral
  }

  package let session: SessionID
  /// Whether the worker runs the session's tasks. Its commands are then written in the commit.
  package let runsInWorker: Bool
  /// Whether the session is being handed over, so that no task begins here.
  var isLeaving = false
  /// The session's queue, while its machine handles an input.
  var submissions = SubmissionQueue()
  package var identifiers: IdentifierGenerator

  // MARK: In the commit

  package var sessionRow: TransferSession?
  /// The highest taskIdentifier assigned so far, if it has changed.
  package var lastIdentifier: Int?
  package var created: [TransferTask] = []
  package var updated: [TransferTask] = []
  /// Tasks whose description, priority, begin date or limit has changed.
  package var respecified: [TransferTask] = []
  package var smallBodies: [(task: TaskID, bytes: [UInt8])] = []
  /// The events in order. Progress events are among them, but are not stored.
  package var events: [TransferEvent] = []
  /// The groups and labels of the tasks in `events` and `openedBodies`. Tasks without any are absent.
  package private(set) var tags: [TaskID: TaskTags] = [:]
  package var messages: [WebhookMessage] = []
  package var newDecisions: [NewDecision] = []
  package var decisionOutcomes: [DecisionOutcome] = []
  package var credentials: [(space: ProtectionSpace, credential: Credential)] = []
  /// The commands for the worker.
  package var workerCommands: [TransferCommand] = []
  package var retirement: SessionCleanup?
  /// The numbers of the worker reports that this input consumed. The commit deletes their rows.
  package var takenNews: [Int64] = []

  // MARK: After the commit is queued, in order

  /// The commands for this service's engine.
  package var engineCommands: [TransferCommand] = []
  /// Bodies that begin, before their events are emitted.
  package var openedBodies: [(task: TaskID, body: any BodyToken)] = []
  /// Body files to delete: of cancelled tasks whose transfer had succeeded, and of replaced requests.
  package var unwantedBodies: [BlobKey] = []
  /// Bodies that clients offered or sent and that are no longer needed.
  package var droppedUploads: [any BodyToken] = []
  package var timers: [TimerChange] = []
  package var trials: [TrialChange] = []
  /// Steps with the files of destinations.
  package var placements: [PlacementStep] = []
  /// Tasks whose response head has arrived or will never arrive. Clients that wait for the head continue.
  package var respondedTasks: [TaskID] = []

  // MARK: Once the commit has succeeded

  /// Tasks that have ended. `SessionInput.endsCommitted` reports their commit to the machine.
  package var ended: [TaskID] = []
  /// Temporary files of destinations that get their final names.
  package var renames: [PlacementStep] = []
  /// Tasks that can be evicted. `SessionInput.evict` reports their commit to the machine.
  package var evictions: [Eviction] = []

  // MARK: At once

  /// Tasks that the machine has removed.
  package var forgotten: [TaskID] = []

  package init(session: SessionID, isCarriedElsewhere: Bool, identifiers: IdentifierGenerator) {
    self.session = session
    self.runsInWorker = isCarriedElsewhere
    self.identifiers = identifiers
  }

  /// Whether nothing is written, and only progress events are emitted.
  package var isProgressOnly: Bool {
    sessionRow == nil && lastIdentifier == nil && created.isEmpty && updated.isEmpty && respecified.isEmpty
      && smallBodies.isEmpty && messages.isEmpty && newDecisions.isEmpty && decisionOutcomes.isEmpty
      && credentials.isEmpty && workerCommands.isEmpty && retirement == nil && takenNews.isEmpty
      && ended.isEmpty
      && events.allSatisfy(\.type.isProgress)
  }

  /// Whether there is nothing to execute.
  package var isEmpty: Bool {
    events.isEmpty && isProgressOnly && engineCommands.isEmpty && openedBodies.isEmpty
      && unwantedBodies.isEmpty
      && droppedUploads.isEmpty && timers.isEmpty && trials.isEmpty && respondedTasks.isEmpty
      && evictions.isEmpty && placements.isEmpty && renames.isEmpty
  }

  /// Adds a command for the engine or the worker, whichever runs the session's tasks.
  mutating func send(_ order: TransferCommand) {
    if runsInWorker { workerCommands.append(order) } else { engineCommands.append(order) }
  }

  mutating func send(_ command: TaskCommand, of task: TaskID) { send(.command(command, task)) }

  /// Adds the answer to a decision.
  /// - Parameter question: the number of the decision; `nil` if the service requested it, so that no transfer waits.
  mutating func answer(_ question: Int?, of task: TaskID, _ answer: TransferAnswer) {
    if let question { send(.answer(answer, question: question), of: task) }
  }

  /// Emits an event to streams, and to the webhooks that selected it.
  mutating func emit(
    _ event: TransferEvent, of task: TransferTask?, in session: borrowing TransferSession
  ) {
    if let task { append(event, of: task) } else { events.append(event) }
    for (webhook, answers) in Recipient.list(of: event, task: task, session: session) {
      messages.append(
        WebhookMessage(
          id: identifiers.make(at: event.time), webhook: webhook, createdAt: event.time,
          content: .event(event, task), decision: answers ? event.decision?.id : nil))
    }
  }

  /// Emits an event to streams only.
  mutating func append(_ event: TransferEvent, of task: TransferTask) {
    events.append(event)
    addTags(of: task)
  }

  /// Records the group and labels by which streams select the task's events and its body.
  mutating func addTags(of task: TransferTask) {
    if let found = task.tags { tags[task.id] = found }
  }

  /// Emits an event about a task.
  mutating func emit(
    _ type: EventType, at time: Timestamp, _ payload: TransferEvent.Payload, of task: TransferTask,
    in session: borrowing TransferSession
  ) {
    let event = TransferEvent(type, at: time, session: task.sessionID, task: task.id, payload)
    emit(event, of: task, in: session)
  }

  /// Adds the task's row. Only its state at the end of the input is written.
  mutating func update(_ task: TransferTask) {
    if let last = updated.indices.last, updated[last].id == task.id {
      updated[last] = task
    } else {
      updated.append(task)
    }
  }
}
