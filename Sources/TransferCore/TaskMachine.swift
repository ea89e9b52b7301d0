package import TransferModel

/// One unfinished task: what its clients were told of it, and what they are told next. A plain value.
///
/// What is being tried for the task is known where it is carried out, and joined to this by orders and facts.
package struct TaskMachine: Sendable {
  /// Where the task is between its creation and its end.
  package enum Place: Sendable {
    /// Its row is in a commit that does not hold yet.
    case creating
    /// Nobody carries it out. Its begin date may have come, and was told then.
    case idle(hasBegun: Bool)
    /// Its delegate is asked whether it may begin (`task.willBeginDelayedRequest`).
    case asksToBegin(Question)
    /// An earlier process created it, and may have handed it over to the one that carries background tasks out.
    case uncertain(Question?, hasBegun: Bool)
    /// Somebody carries it out.
    case carried(Question?)
    /// An attempt has failed, and the next has not begun.
    case waitsToRetry
    /// It has ended; the commit that says so does not hold yet.
    case ending
  }
  /// What a client sends for a task that streams its body.
  package enum Upload: Sendable {
    case none
    /// The client is ready; the task has not asked yet.
    case ready(any BodyToken)
    case used(any BodyToken)

    var token: (any BodyToken)? {
      switch self {
      case .none: nil
      case .ready(let token), .used(let token): token
      }
    }
  }

  /// As clients see it. A task that is ending is shown as it was, until its end holds.
  package internal(set) var task: TransferTask
  package internal(set) var place: Place
  var upload = Upload.none

  /// - Parameter place: where a task that was just created, or that an earlier process left, is.
  package init(_ task: TransferTask, at place: Place) {
    self.task = task
    self.place = place
  }

  var id: TaskID { task.id }

  package var isCreating: Bool { if case .creating = place { true } else { false } }
  package var isEnding: Bool { if case .ending = place { true } else { false } }

  /// Whoever carries it out hears of what clients do with it.
  var isSubmitted: Bool {
    switch place {
    case .carried, .waitsToRetry, .uncertain: true
    case .creating, .idle, .asksToBegin, .ending: false
    }
  }

  package var question: Question? {
    switch place {
    case .asksToBegin(let question): question
    case .carried(let question), .uncertain(let question, _): question
    case .creating, .idle, .waitsToRetry, .ending: nil
    }
  }

  /// The question is out of the way.
  mutating func dropQuestion() {
    switch place {
    case .asksToBegin: place = .idle(hasBegun: true)
    case .carried: place = .carried(nil)
    case .uncertain(_, let hasBegun): place = .uncertain(nil, hasBegun: hasBegun)
    case .creating, .idle, .waitsToRetry, .ending: break
    }
  }

  /// What a running task is doing.
  var phase: TaskPhase {
    if question != nil { return .waitingForDecision }
    if case .waitsToRetry = place { return .waitingToRetry }
    return task.startedAt == nil ? .queued : .transferring
  }

  // MARK: Telling

  func stateEvent(at time: Timestamp) -> TransferEvent {
    event(.taskDidChangeState, at: time, .stateChanged(task.state, task.state == .running ? task.phase : nil))
  }

  func event(_ type: EventType, at time: Timestamp, _ payload: TransferEvent.Payload) -> TransferEvent {
    TransferEvent(type, at: time, session: task.sessionID, task: id, payload)
  }

  func tell(
    _ type: EventType, at time: Timestamp, _ payload: TransferEvent.Payload,
    _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    turn.tell(event(type, at: time, payload), of: task, in: session)
  }

  /// A running task does something else now; nothing is told where it does that already.
  mutating func enter(
    _ phase: TaskPhase, at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    guard task.state == .running, task.phase != phase else { return }
    task.phase = phase
    turn.tell(stateEvent(at: time), of: task, in: session)
  }
}
