internal import TransferModel

/// The decisions that a task requests from its delegate.
extension TaskMachine {
  /// Opens a decision: the task waits for it, and the delegate is notified.
  /// - Parameter number: the number of the decision within its task, for the engine or the worker; `nil` if the service requested it.
  mutating func requestDecision(
    _ kind: OpenDecision.Kind, number: Int?, _ type: EventType, _ payload: TransferEvent.Payload,
    at time: Timestamp, _ session: borrowing TransferSession, into effects: inout SessionEffects
  ) {
    // No answer can change the end of a cancelled task.
    guard task.state != .canceling else { return }
    // An older decision can no longer be answered, because its attempt is gone.
    settle(.withdrawn, session, at: time, into: &effects)
    let timeout = session.delegate(of: task)?.decisionTimeout ?? SessionDelegate().decisionTimeout
    let decision = TransferEvent.DecisionSummary(
      id: effects.identifiers.make(at: time), expiresAt: time.adding(seconds: timeout),
      defaultAnswer: OpenDecision.defaultAnswer(to: type))
    guard ![.creating, .leaving, .ending].contains(executionState) else {
      return assertionFailure("a decision of a task that is not running")
    }
    question = OpenDecision(decision: decision.id, number: number, kind: kind)
    task.enter(.waitingForDecision, at: time, session, into: &effects)
    let event = TransferEvent(type, at: time, session: task.sessionID, task: id, payload, decision: decision)
    effects.newDecisions.append(.init(event: event, number: number))
    effects.emit(event, of: task, in: session)
    effects.timers.append(.decision(decision.id, of: id, afterSeconds: timeout))
  }

  /// Settles the open decision: it was answered, expired or was withdrawn.
  /// - Returns: `nil` if no decision was open.
  @discardableResult
  mutating func settle(
    _ state: Decision.State, answer: [UInt8]? = nil, tag: [UInt8]? = nil,
    _ session: borrowing TransferSession, at time: Timestamp, into effects: inout SessionEffects
  ) -> OpenDecision? {
    guard let question else { return nil }
    if question.isAboutBeginning { task.firstAttempt.announce() }
    self.question = nil
    effects.decisionOutcomes.append(
      .init(id: question.decision, task: id, state: state, answer: answer, tag: tag))
    effects.timers.append(.cancelDecision(question.decision, of: id))
    guard state != .withdrawn else { return question }
    let isOnItsWay = executionState.isSubmitted && (task.response != nil || question.isOnWire)
    task.enter(isOnItsWay ? .transferring : .queued, at: time, session, into: &effects)
    // The next service reads the task's progress from the row, so the row must not show a settled decision.
    if writesFacts(effects) || question.isAboutBeginning && retryPolicy(session) != nil {
      effects.update(task)
    }
    return question
  }

  /// Applies the delegate's answer.
  /// - Parameters:
  ///   - shown: the answer as clients see it: JSON without secrets.
  ///   - tag: a digest that distinguishes answers with secrets; `nil` if the answer has none.
  /// - Returns: `false` if the decision is not the open one.
  mutating func answer(
    _ decision: DecisionID, _ answer: DecisionAnswer, shown: [UInt8], tag: [UInt8]?,
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) -> Bool {
    guard question?.decision == decision else { return false }
    let question = settle(
      .answered, answer: shown, tag: tag, session, at: now.wall, into: &effects)
    func reply(_ answer: TransferAnswer) { effects.answer(question?.number, of: id, answer) }
    func goOn(with request: TransferRequest?) {
      guard let request else { return }
      effects.replaceRequest(of: &task, with: request)
      if request.body?.isStream != true, let body = upload.removeOffered() {
        effects.droppedUploads.append(body)
      }
      // The worker, or a service that resumes the task after a restart, reads the request from the row.
      if writesFacts(effects) || task.state == .suspended { effects.update(task) }
    }
    switch answer {
    case .redirect(let request):
      goOn(with: request)
      reply(.redirect(request))
    case .challenge(.answer(let answer)): reply(.challenge(answer))
    case .caching(let policy, let headers): reply(.caching(policy, headers: headers))
    case .response(.allow): reply(.allow)
    case .response(.becomeDownload): assertionFailure("the session must handle becomeDownload")
    case .delayed(.continueLoading, _): startIfReady(session, at: now, into: &effects)
    case .delayed(.useNewRequest, let request):
      if let request {
        task.startRequest = StartRequest(request)
        goOn(with: request)
      }
      startIfReady(session, at: now, into: &effects)
    case .challenge(.cancel), .response(.cancel), .delayed(.cancel, _):
      cancel(keepsPartial: false, session, at: now, into: &effects)
    }
    return true
  }

  /// Applies the default answer of an expired decision.
  mutating func expire(
    _ decision: DecisionID, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    guard let question, question.decision == decision else { return }
    settle(.expired, session, at: now.wall, into: &effects)
    if question.isAboutBeginning {
      startIfReady(session, at: now, into: &effects)
    } else {
      effects.answer(question.number, of: id, .byDefault)
    }
  }

  /// Reports that a webhook's answer was not applied: it is invalid or too late. An open decision then gets its default.
  mutating func rejectAnswer(
    to decision: DecisionID, _ reason: String, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    effects.emit(
      .decisionAnswerWasRejected, at: now.wall, .answerRejected(decision, reason: reason), of: task,
      in: session)
    expire(decision, session, at: now, into: &effects)
  }

  // MARK: Streamed bodies

  /// Accepts a client that is ready to send the body. A task has one such client at a time, and accepts another only after it requests a
  /// new body.
  /// - Parameter length: the length of the body; `nil` if unknown.
  mutating func offer(
    _ body: any BodyToken, length: Int64?, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) throws(TaskUpload.Refusal) {
    guard task.currentRequest.body?.isStream == true else { throw .noBodyStream }
    guard task.state != .canceling, !isEnding, upload.token == nil else { throw .notWanted }
    upload = .ready(body)
    task.progress.countOfBytesExpectedToSend = length ?? -1
    if case .bodyStream = question?.kind { provideBody(session, at: now.wall, into: &effects) }
  }

  /// Passes the body that a client is ready to send to the transfer that requested it.
  mutating func provideBody(
    _ session: borrowing TransferSession, at time: Timestamp, into effects: inout SessionEffects
  ) {
    guard let body = upload.claim() else { return }
    let question = settle(.answered, session, at: time, into: &effects)
    effects.answer(question?.number, of: id, .bodyStream(BodyReference(body)))
  }

  /// Removes a client that left before any byte of its body was read.
  mutating func withdraw(_ body: any BodyToken) {
    guard upload.withdraw(body) else { return }
    // The announced length goes with the client.
    task.progress.countOfBytesExpectedToSend = task.currentRequest.declaredLength ?? -1
  }
}
