internal import TransferModel

/// What a task asks its delegate.
extension TaskMachine {
  /// The task waits, and its delegate is told.
  /// - Parameter number: the question's among the task's, for whoever carries it out; nil: it has none.
  mutating func ask(
    _ kind: Question.Kind, number: Int?, _ type: EventType, _ payload: TransferEvent.Payload,
    at time: Timestamp, _ session: borrowing TransferSession, into turn: inout Turn
  ) {
    // It ends, whatever anybody says.
    guard task.state != .canceling else { return }
    // A question that nobody can answer any more, as whoever asked is gone.
    settle(.withdrawn, session, at: time, into: &turn)
    let timeout = session.delegate(of: task)?.decisionTimeout ?? SessionDelegate().decisionTimeout
    let decision = TransferEvent.PendingDecision(
      id: turn.identifiers.make(at: time), expiresAt: time.adding(seconds: timeout),
      defaultAnswer: Question.defaultAnswer(to: type))
    guard ![.creating, .leaving, .ending].contains(place) else {
      return assertionFailure("a task asks that is not carried out")
    }
    question = Question(decision: decision.id, number: number, kind: kind)
    task.enter(.waitingForDecision, at: time, session, into: &turn)
    let event = TransferEvent(type, at: time, session: task.sessionID, task: id, payload, decision: decision)
    turn.inquiries.append(.init(event: event, number: number))
    turn.tell(event, of: task, in: session)
    turn.alarms.append(.decision(decision.id, of: id, afterSeconds: timeout))
  }

  /// The question is answered, or has lost its meaning. Nil where there is none.
  @discardableResult
  mutating func settle(
    _ state: Decision.State, answer: [UInt8]? = nil, tag: [UInt8]? = nil,
    _ session: borrowing TransferSession, at time: Timestamp, into turn: inout Turn
  ) -> Question? {
    guard let question else { return nil }
    if question.isAboutBeginning { task.beginning.announce() }
    self.question = nil
    turn.settlements.append(.init(id: question.decision, task: id, state: state, answer: answer, tag: tag))
    turn.alarms.append(.cancelDecision(question.decision, of: id))
    guard state != .withdrawn else { return question }
    let isOnItsWay = place.isSubmitted && (task.response != nil || question.isOnWire)
    task.enter(isOnItsWay ? .transferring : .queued, at: time, session, into: &turn)
    // What another process does is told anew to the next service: it must not show a question that is settled.
    if turn.isCarriedElsewhere { turn.update(task) }
    return question
  }

  /// Does what the delegate says. False where the decision is not the one that waits.
  /// - Parameters:
  ///   - shown: the answer as it is shown, JSON without secrets.
  ///   - tag: what tells the same answer from another, where it has secrets.
  mutating func answer(
    _ decision: DecisionID, _ answer: DecisionAnswer, shown: [UInt8], tag: [UInt8]?,
    _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) -> Bool {
    guard question?.decision == decision else { return false }
    let question = settle(
      .answered, answer: shown, tag: tag, session, at: now.wall, into: &turn)
    func reply(_ answer: TransferAnswer) { turn.answer(question?.number, of: id, answer) }
    func goOn(with request: TransferRequest?) {
      guard let request else { return }
      turn.replaceRequest(of: &task, with: request)
      if request.body?.isStream != true, let body = upload.dropReady() { turn.droppedUploads.append(body) }
      // Another process that carries the task out, or a service that resumes it after a restart, reads the request from the row.
      if turn.isCarriedElsewhere || task.state == .suspended { turn.update(task) }
    }
    switch answer {
    case .redirect(let request):
      goOn(with: request)
      reply(.redirect(request))
    case .challenge(.answer(let answer)): reply(.challenge(answer))
    case .caching(let policy, let headers): reply(.caching(policy, headers: headers))
    case .response(.allow): reply(.allow)
    case .response(.becomeDownload): assertionFailure("the session makes another task of it")
    case .delayed(.continueLoading, _): launch(session, at: now, into: &turn)
    case .delayed(.useNewRequest, let request):
      goOn(with: request)
      launch(session, at: now, into: &turn)
    case .challenge(.cancel), .response(.cancel), .delayed(.cancel, _):
      cancel(keepsPartial: false, session, at: now, into: &turn)
    }
    return true
  }

  /// Nobody answered in time: what the default says.
  mutating func expire(
    _ decision: DecisionID, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    guard let question, question.decision == decision else { return }
    settle(.expired, session, at: now.wall, into: &turn)
    if question.isAboutBeginning {
      launch(session, at: now, into: &turn)
    } else {
      turn.answer(question.number, of: id, .byDefault)
    }
  }

  // MARK: Streamed bodies

  /// A client is ready to send the body. One at a time, and again only when the task asks again.
  /// - Parameter length: of the body; nil: not known.
  mutating func offer(
    _ body: any BodyToken, length: Int64?, _ session: borrowing TransferSession, at now: Now,
    into turn: inout Turn
  ) throws(TaskUpload.Refusal) {
    guard task.currentRequest.body?.isStream == true else { throw .noBodyStream }
    guard task.state != .canceling, !isEnding, upload.token == nil else { throw .notWanted }
    upload = .ready(body)
    task.progress.countOfBytesExpectedToSend = length ?? -1
    if case .bodyStream = question?.kind { provideBody(session, at: now.wall, into: &turn) }
  }

  /// Hands the body that a client is sending to the transfer that asked for it.
  mutating func provideBody(
    _ session: borrowing TransferSession, at time: Timestamp, into turn: inout Turn
  ) {
    guard let body = upload.use() else { return }
    let question = settle(.answered, session, at: time, into: &turn)
    turn.answer(question?.number, of: id, .bodyStream(BodyReference(body)))
  }

  /// The client left before anything of the body was wanted.
  mutating func withdraw(_ body: any BodyToken) {
    guard upload.withdraw(body) else { return }
    // What was announced goes with it.
    task.progress.countOfBytesExpectedToSend = task.currentRequest.declaredLength ?? -1
  }
}
