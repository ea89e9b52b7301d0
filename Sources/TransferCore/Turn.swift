package import TransferModel

/// What one input to a session's machine comes to, as values. Turns of a session are carried out in order, and each part has its
/// moment: *in* the commit, *behind it* in order without waiting for it, or *once it holds*.
package struct Turn: Sendable {
  /// A decision that is settled.
  package struct Settlement: Sendable, Equatable {
    package let id: DecisionID
    package let task: TaskID
    package let state: Decision.State
    /// The answer as it is shown, JSON without secrets, and what tells it from others; nil where nobody gave one.
    package var answer: [UInt8]?
    package var tag: [UInt8]?
  }
  /// A question to a delegate. Its event has the decision.
  package struct Inquiry: Sendable {
    package let event: TransferEvent
    /// Among the task's, for whoever carries it out; nil: it has none.
    package let number: Int?
  }
  package enum Alarm: Sendable, Equatable {
    /// Nobody has answered the decision by then; the wait is not changed by a clock that is set.
    case decision(DecisionID, of: TaskID, afterSeconds: Double)
    /// The begin date of a task.
    case begin(TaskID, at: Timestamp)
    case cancelDecision(DecisionID, of: TaskID)
    case cancelBegin(TaskID)
  }
  /// A session that became invalid: what was for its life only is dropped.
  package enum Retirement: Sendable, Equatable {
    /// Its connections, and its credentials that are not permanent.
    case keepsStored
    /// The same, and those that are permanent are no longer stored, as another process had them.
    case background
    /// All that it has.
    case ephemeral
  }

  package let session: SessionID
  /// Another process carries the session's tasks out: orders are written, in the commit.
  package let isCarriedElsewhere: Bool
  /// The session is to go on at another process: nothing of it begins here.
  var isLeaving = false
  /// The session's, while its machine handles an input.
  var submissions = SubmissionQueue()
  package var identifiers: IdentifierGenerator

  // MARK: In the commit

  package var sessionRow: TransferSession?
  /// The highest taskIdentifier that was given out, where that has changed.
  package var lastIdentifier: Int?
  package var created: [TransferTask] = []
  package var updated: [TransferTask] = []
  /// Tasks whose description, priority, begin date or limit has changed.
  package var respecified: [TransferTask] = []
  package var smallBodies: [(task: TaskID, bytes: [UInt8])] = []
  /// In order. Progress is among them in its place, and is not kept.
  package var events: [TransferEvent] = []
  package var messages: [Message] = []
  package var inquiries: [Inquiry] = []
  package var settlements: [Settlement] = []
  package var credentials: [(space: ProtectionSpace, credential: Credential)] = []
  /// For another process.
  package var commands: [Order] = []
  package var retirement: Retirement?
  /// News of another process that the turn has taken, by their numbers: their rows go with it.
  package var takenNews: [Int64] = []

  // MARK: Behind it, in order

  /// For this process's engine.
  package var orders: [Order] = []
  /// Bodies that begin, before their events are told.
  package var openedBodies: [(task: TaskID, body: any BodyToken)] = []
  /// Bodies on the disk of tasks that were cancelled before their end was told, and of requests that others have replaced.
  package var unwantedBodies: [BlobKey] = []
  /// Bodies that clients send and nobody wants any more.
  package var droppedUploads: [any BodyToken] = []
  package var alarms: [Alarm] = []
  /// Tasks whose response has begun, or never will: those who wait for it go on.
  package var heads: [TaskID] = []

  // MARK: Once it holds

  /// Tasks that have ended: the machine is told by `Input.endHolds`.
  package var ended: [TaskID] = []
  /// Tasks that can be evicted: the machine is told by `Input.evict`.
  package var evictions: [Eviction] = []

  // MARK: At once

  /// Tasks that nobody will hear of again.
  package var forgotten: [TaskID] = []

  package init(session: SessionID, isCarriedElsewhere: Bool, identifiers: IdentifierGenerator) {
    self.session = session
    self.isCarriedElsewhere = isCarriedElsewhere
    self.identifiers = identifiers
  }

  /// Nothing of it is written, but for events that are told and forgotten.
  package var isProgressOnly: Bool {
    sessionRow == nil && lastIdentifier == nil && created.isEmpty && updated.isEmpty && respecified.isEmpty
      && smallBodies.isEmpty && messages.isEmpty && inquiries.isEmpty && settlements.isEmpty
      && credentials.isEmpty && commands.isEmpty && retirement == nil && takenNews.isEmpty && ended.isEmpty
      && events.allSatisfy(\.type.isProgress)
  }

  /// There is nothing to be carried out.
  package var isEmpty: Bool {
    events.isEmpty && isProgressOnly && orders.isEmpty && openedBodies.isEmpty && unwantedBodies.isEmpty
      && droppedUploads.isEmpty && alarms.isEmpty && heads.isEmpty && evictions.isEmpty
  }

  /// Gives an order to whoever carries the session's tasks out.
  mutating func order(_ order: Order) {
    if isCarriedElsewhere { commands.append(order) } else { orders.append(order) }
  }

  mutating func order(_ command: TaskCommand, of task: TaskID) { order(.command(command, task)) }

  /// - Parameter question: the number of the question; nil: the service itself asked, and no transfer waits.
  mutating func answer(_ question: Int?, of task: TaskID, _ answer: TransferAnswer) {
    if let question { order(.answer(answer, question: question), of: task) }
  }

  /// Tells what has happened to those who listen, and to the webhooks that want to hear of it.
  mutating func tell(
    _ event: TransferEvent, of task: TransferTask?, in session: borrowing TransferSession
  ) {
    events.append(event)
    for (webhook, answers) in Addressee.list(of: event, task: task, session: session) {
      messages.append(
        Message(
          id: identifiers.make(at: event.time), webhook: webhook, createdAt: event.time,
          content: .event(event, task), decision: answers ? event.decision?.id : nil))
    }
  }

  /// Tells what has happened to a task.
  mutating func tell(
    _ type: EventType, at time: Timestamp, _ payload: TransferEvent.Payload, of task: TransferTask,
    in session: borrowing TransferSession
  ) {
    let event = TransferEvent(type, at: time, session: task.sessionID, task: task.id, payload)
    tell(event, of: task, in: session)
  }

  /// The row of a task, as it is at the end of the turn.
  mutating func update(_ task: TransferTask) {
    if let last = updated.indices.last, updated[last].id == task.id {
      updated[last] = task
    } else {
      updated.append(task)
    }
  }
}
