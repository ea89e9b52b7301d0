package import JSON
internal import Synchronization
internal import TransferCore
internal import TransferEngine
package import TransferModel
internal import TransferStore

extension TransferService {
  // MARK: Reading

  func decision(_ id: DecisionID) async throws(ServiceError) -> Decision {
    do throws(StoreError) {
      if let decision = try await store.decision(id) { return decision }
    } catch {
      throw .store(error)
    }
    throw .decisionNotFound
  }

  /// A page of a session's decisions, oldest first.
  func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(ServiceError) -> [Decision] {
    _ = try self.session(session)
    do throws(StoreError) {
      return try await store.decisions(of: session, state: state, after: after, limit: limit)
    } catch {
      throw .store(error)
    }
  }

  // MARK: Answering

  /// As below, by the reply of a webhook to the message that asked.
  package func answer(to message: WebhookDelivery, with value: JSONValue) async throws {
    guard let id = message.decisionID else { return }
    _ = try await answer(decision(id), with: value)
  }

  /// Reads the answer to a decision and does what it says. The same answer again is no error, another one is.
  func answer(_ known: Decision, with value: JSONValue) async throws -> Decision {
    let id = known.id
    let violations = Violations()
    var read = DecisionAnswer(value, to: shown(by: known), violations)
    guard violations.isEmpty else { throw InvalidFields(violations) }
    if var request = read?.request {
      try checkBackground(request, of: known.taskID)
      try await complete(&request, in: session(known.sessionID))
      read?.request = request
    }
    guard let answer = read else { throw InvalidFields(violations) }
    let json = answer.stored(value)
    let tags = json == value.json ? [] : answerTagger.tags(value.json)
    let settled: Decision? = await withCheckedContinuation { continuation in
      registry.withLock { registry in
        guard let task = registry.decisions[id] else { return continuation.resume(returning: nil) }
        var change = StoreChange()
        let decision = settle(task, .answered, answer: json, tag: tags.first, &registry, &change)
        act(on: answer, to: decision?.question, task, &registry, &change)
        recordAny(change)
        // The reply comes when what the answer causes is on the disk as well.
        record(StoreChange()) { continuation.resume(returning: decision) }
      }
    }
    if let settled { return settled }
    let now = try await decision(id)
    let isSame = now.answer == json && (now.answerTag.map(tags.contains) ?? tags.isEmpty)
    guard now.state == .answered, isSame else {
      throw ServiceError.decisionSettled(now.state)
    }
    return now
  }

  /// A delegate's request goes by the same rules as a client's.
  private func checkBackground(_ request: TransferRequest, of id: TaskID) throws(InvalidFields) {
    let fault = registry.withLock { registry -> String? in
      guard let task = registry.tasks[id]?.task,
        registry.sessions[task.sessionID]?.session.type == .background
      else { return nil }
      return request.backgroundFault(of: task.kind)
    }
    if let fault { throw InvalidFields([FieldViolation(pointer: "/request/body", detail: fault)]) }
  }

  /// What the decision was about.
  private func shown(by decision: Decision) -> DecisionAnswer.Shown {
    var shown = DecisionAnswer.Shown(type: decision.type)
    if decision.defaultAnswer == Question.defaultAnswer(to: .taskDidReceiveChallenge) {
      let arguments = try? JSONParser.parse(decision.arguments)
      shown.method = arguments?["protectionSpace"]?["authenticationMethod"]?.string.flatMap {
        AuthenticationMethod(rawValue: $0)
      }
    }
    if decision.type == .dataTaskWillCacheResponse {
      let arguments = try? JSONParser.parse(decision.arguments)
      shown.headers = HTTPHeaders(json: arguments?["response"]?["headers"])
    }
    registry.withLock { registry in
      guard let task = registry.decisions[decision.id], let entry = registry.tasks[task] else { return }
      if case .redirect(let proposed) = entry.question?.kind {
        shown.request = proposed
      } else {
        shown.request = entry.task.currentRequest
      }
    }
    return shown
  }

  /// - Parameter question: its number.
  private func act(
    on answer: DecisionAnswer, to question: Int?, _ id: TaskID, _ registry: inout TransferRegistry,
    _ change: inout StoreChange
  ) {
    guard let session = registry.tasks[id]?.task.sessionID else { return }
    let carrier = carrier(of: session)
    func tell(_ answer: TransferAnswer) {
      carrier.answer(id, in: session, to: question, answer, into: &change)
    }
    switch answer {
    case .redirect(let request):
      if let request { registry.tasks[id]?.task.currentRequest = request }
      tell(.redirect(request))
    case .challenge(.answer(let answer)): tell(.challenge(answer))
    case .caching(let policy, let headers): tell(.caching(policy, headers: headers))
    case .response(.allow): tell(.allow)
    case .response(.becomeDownload): becomeDownload(id, question, &registry, &change)
    case .delayed(.continueLoading, _): submit(id, &registry, &change)
    case .delayed(.useNewRequest, let request):
      if let request { use(request, for: id, &registry, &change) }
      submit(id, &registry, &change)
    case .challenge(.cancel), .response(.cancel), .delayed(.cancel, _): cancel(id, &registry, &change)
    }
  }

  /// A task begins with another request than the one it was created with. Another process finds it in the task's row.
  private func use(
    _ request: TransferRequest, for id: TaskID, _ registry: inout TransferRegistry,
    _ change: inout StoreChange
  ) {
    registry.tasks[id]?.task.currentRequest = request
    guard let task = registry.tasks[id]?.task, background?.has(task.sessionID) == true else { return }
    change.updatedTasks.append(task)
  }

  /// Nobody answered in time: what the default says.
  func expire(_ id: DecisionID) {
    registry.withLock { registry in
      guard let task = registry.decisions[id], let entry = registry.tasks[task],
        let question = entry.question, question.decision.id == id
      else { return }
      var change = StoreChange()
      settle(task, .expired, answer: nil, &registry, &change)
      if case .delayedRequest = question.kind {
        submit(task, &registry, &change)
      } else {
        carrier(of: entry.task.sessionID).answer(
          task, in: entry.task.sessionID, to: question.decision.question, .byDefault, into: &change)
      }
      record(change)
    }
  }

  // MARK: Life

  /// Somebody has to say who the client is, or whom it trusts.
  func ask(
    _ challenge: AuthenticationChallenge, number: Int?, _ type: EventType, of id: TaskID, at time: Timestamp,
    _ registry: inout TransferRegistry, _ change: inout StoreChange
  ) {
    ask(
      .challenge(challenge.protectionSpace.authenticationMethod), number: number, type,
      .challenged(challenge), of: id, at: time, &registry, &change)
  }

  /// A transfer asks: the task waits, and its delegate is told.
  /// - Parameter number: the question's among the task's, for whoever carries it out; nil: it has none.
  func ask(
    _ question: TransferRegistry.Question.Kind, number: Int?, _ type: EventType,
    _ payload: TransferEvent.Payload, of id: TaskID, at time: Timestamp, _ registry: inout TransferRegistry,
    _ change: inout StoreChange
  ) {
    guard let entry = registry.tasks[id], let session = registry.sessions[entry.task.sessionID]?.session
    else {
      return
    }
    // A question that nobody can answer any more, as whoever asked is gone.
    settle(id, .withdrawn, answer: nil, &registry, &change)
    var task = entry.task
    let expiresAt = time.adding(
      seconds: session.delegate(of: task)?.decisionTimeout ?? SessionDelegate().decisionTimeout)
    let pending = TransferEvent.PendingDecision(
      id: identifiers.make(), expiresAt: expiresAt, defaultAnswer: Question.defaultAnswer(to: type))
    let event = TransferEvent(type, at: time, session: session.id, task: id, payload, decision: pending)
    var writer = JSONWriter()
    writer.object { event.encodeArguments(into: &$0) }
    let decision = Decision(
      id: pending.id, type: type, sessionID: session.id, taskID: id, createdAt: time, expiresAt: expiresAt,
      defaultAnswer: pending.defaultAnswer, arguments: writer.bytes, question: number)
    var events: [TransferEvent] = []
    if task.state == .running {
      task.phase = .waitingForDecision
      events.append(Self.stateEvent(of: task, at: time))
    }
    registry.tasks[id]?.task = task
    registry.tasks[id]?.question = .init(decision: decision, kind: question)
    registry.decisions[decision.id] = id
    change.newDecisions.append(decision)
    note(events + [event], of: task, in: session, into: &change)
    if case .challenge = question { wake(session, at: time, into: &change) }
    expireLater(decision)
  }

  /// It waits no longer than it was to, however the clock is set.
  func expireLater(_ decision: Decision) {
    let whole = decision.expiresAt.since(decision.createdAt)
    deadlines.add(.decision(decision.id), after: min(whole, decision.expiresAt.since(now)))
  }

  /// A question is answered, or has lost its meaning.
  @discardableResult
  func settle(
    _ id: TaskID, _ state: Decision.State, answer: [UInt8]?, tag: [UInt8]? = nil,
    _ registry: inout TransferRegistry, _ change: inout StoreChange
  ) -> Decision? {
    guard let entry = registry.tasks[id], let question = entry.question else { return nil }
    var decision = question.decision
    decision.state = state
    decision.answer = answer
    decision.answerTag = tag
    registry.tasks[id]?.question = nil
    registry.decisions[decision.id] = nil
    deadlines.remove(.decision(decision.id))
    change.updatedDecisions.append(decision)
    guard state != .withdrawn, entry.task.state == .running,
      let session = registry.sessions[entry.task.sessionID]?.session
    else { return decision }
    var task = entry.task
    task.phase = entry.isSubmitted && (task.response != nil || question.isOnWire) ? .transferring : .queued
    registry.tasks[id]?.task = task
    note([Self.stateEvent(of: task, at: now)], of: task, in: session, into: &change)
    return decision
  }

  // MARK: Becoming a download

  /// The transfer goes on as a task of its own; the data task is silent from here on.
  private func becomeDownload(
    _ id: TaskID, _ question: Int?, _ registry: inout TransferRegistry, _ change: inout StoreChange
  ) {
    guard let entry = registry.tasks[id], let session = registry.sessions[entry.task.sessionID]?.session
    else {
      return
    }
    let (old, time) = (entry.task, now)
    var specification = TaskSpecification(kind: .download, request: old.originalRequest)
    specification.priority = old.priority
    specification.description = old.description
    specification.maximumBytesPerSecond = old.maximumBytesPerSecond
    specification.preferences = old.preferences
    var download = TransferTask(
      id: identifiers.make(), sessionID: session.id, taskIdentifier: registry.admit(1, in: session.id),
      createdAt: time, specification: specification)
    download.continueAs(old)
    registry.insert(.init(task: download, isSubmitted: true), goingOnFor: id)
    registry.tasks[id]?.isEnding = true
    var ended = old
    _ = ended.lifecycle.complete()
    ended.phase = nil
    ended.completedAt = time
    ended.downloadTask = download.id
    change.createdTasks.append(download)
    change.updatedTasks.append(ended)
    change.lastIdentifiers[session.id] = download.taskIdentifier
    let created = TransferEvent(
      .taskDidCreate, at: time, session: session.id, task: download.id, .created(download))
    note([created], of: download, in: session, into: &change)
    let became = TransferEvent(
      .dataTaskDidBecomeDownloadTask, at: time, session: session.id, task: id, .becameDownload(download))
    note([became], of: ended, in: session, into: &change)
    if download.state == .running {
      note([Self.stateEvent(of: download, at: time)], of: download, in: session, into: &change)
    }
    carrier(of: session.id).answer(
      id, in: session.id, to: question, .becomeDownload(download.id), into: &change)
    record(change) { [self] in conclude([id]) }
    change = StoreChange()
  }
}

/// What is wrong with what a client sent, field by field.
package struct InvalidFields: Error, Sendable {
  package let violations: [FieldViolation]
  /// Violations that are not among them.
  package let omitted: Int

  package init(_ violations: [FieldViolation]) { (self.violations, omitted) = (violations, 0) }
  package init(_ violations: Violations) { (self.violations, omitted) = (violations.all, violations.omitted) }
}
