internal import EngineAPI
internal import HTTPFields
internal import JSON
internal import Ledger
internal import TransferCore
internal import TransferModel

/// What can be done with decisions: the delegate calls that wait for an answer.
struct Decisions: Sendable {
  let room: MachineRoom
  let sessions: Sessions
  let files: Files
  let tagger: AnswerTagger

  private var store: any Ledger { room.recorder.store }

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
  func page(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(ServiceError) -> [Decision] {
    _ = try sessions.session(session)
    do throws(StoreError) {
      return try await store.decisions(of: session, state: state, after: after, limit: limit)
    } catch {
      throw .store(error)
    }
  }

  // MARK: Answering

  /// Reads the answer to a decision and does what it says. The same answer again is no error, another one is.
  func answer(_ known: Decision, with value: JSONValue) async throws -> Decision {
    let id = known.id
    let violations = Violations()
    var read = DecisionAnswer(value, to: shown(by: known), violations)
    guard violations.isEmpty else { throw InvalidFields(violations) }
    let session = try sessions.session(known.sessionID)
    let spool = RequestSpool(room: room)
    var newFile: BlobKey?
    if var request = read?.request {
      try checkBackground(request, of: known)
      try await files.complete(&request, in: session)
      newFile = try await spool.write(&request, of: known.taskID, in: session)
      read?.request = request
    }
    guard let answer = read else { throw InvalidFields(violations) }
    let shown = answer.stored(value)
    let tags = shown == value.json ? [] : tagger.tags(value.json)
    // The reply comes when what the answer causes is on the disk as well.
    let reply = await room.visitAndWait(known.sessionID) { machine, step in
      machine.take(.answer(known.taskID, id, answer, shown: shown, tag: tags.first), &step)
    }
    let isAccepted = if case .done? = reply { true } else { false }
    if !isAccepted, let newFile { spool.remove([newFile], of: session) }
    let now = try await decision(id)
    if isAccepted { return now }
    let isSame = now.answer == shown && (now.answerTag.map(tags.contains) ?? tags.isEmpty)
    guard now.state == .answered, isSame else { throw ServiceError.decisionSettled(now.state) }
    return now
  }

  /// A delegate's request goes by the same rules as a client's.
  private func checkBackground(_ request: TransferRequest, of decision: Decision) throws(InvalidFields) {
    guard let task = room.task(decision.taskID)?.task, room.session(task.sessionID)?.type == .background,
      let fault = request.backgroundFault(of: task.kind)
    else { return }
    throw InvalidFields([FieldViolation(pointer: "/request/body", detail: fault)])
  }

  /// What the decision was about.
  private func shown(by decision: Decision) -> DecisionAnswer.Shown {
    var shown = DecisionAnswer.Shown(type: decision.type)
    if decision.defaultAnswer == Question.defaultAnswer(to: .taskDidReceiveChallenge) {
      shown.method = decision.challengeMethod
    }
    if decision.type == .dataTaskWillCacheResponse {
      let arguments = try? JSONParser.parse(decision.arguments)
      shown.headers = HTTPHeaders(json: arguments?["response"]?["headers"])
    }
    guard let machine = room.task(decision.taskID), let question = machine.question,
      question.decision == decision.id
    else { return shown }
    if case .redirect(let proposed) = question.kind {
      shown.request = proposed
    } else {
      shown.request = machine.task.currentRequest
    }
    return shown
  }
}

extension Decision {
  /// How whoever is asked is to prove who he is, where that is what is asked.
  var challengeMethod: AuthenticationMethod? {
    let arguments = try? JSONParser.parse(self.arguments)
    return arguments?["protectionSpace"]?["authenticationMethod"]?.string.flatMap {
      AuthenticationMethod(rawValue: $0)
    }
  }
}
