internal import EngineAPI
internal import HTTPFields
internal import JSON
internal import Ledger
internal import TransferCore
internal import TransferModel

/// Use cases of decisions.
struct Decisions: Sendable {
  let runtime: SessionRuntime
  let sessions: Sessions
  let files: Files
  let tagger: AnswerDigester

  private var store: any Ledger { runtime.recorder.store }

  // MARK: Reading

  func decision(_ id: DecisionID) async throws(ServiceError) -> Decision {
    do throws(LedgerError) {
      if let decision = try await store.decision(id) { return decision }
    } catch {
      throw .store(error)
    }
    throw .decisionNotFound
  }

  /// Returns a page of a session's decisions.
  func page(
    of session: SessionID, state: Decision.State?, after: DecisionID?, order: ListOrder, limit: Int
  ) async throws(ServiceError) -> [Decision] {
    _ = try sessions.session(session)
    do throws(LedgerError) {
      return try await store.decisions(
        of: session, state: state, after: after, order: order, limit: limit)
    } catch {
      throw .store(error)
    }
  }

  // MARK: Answering

  /// Applies the answer to a decision. Repeating the same answer succeeds; a different answer throws.
  func answer(_ known: Decision, with value: JSONValue) async throws -> Decision {
    let id = known.id
    let violations = Violations()
    var read = DecisionAnswer(value, to: shown(by: known), violations)
    guard violations.isEmpty else { throw InvalidFields(violations) }
    let session = try sessions.session(known.sessionID)
    let spool = RequestSpool(runtime: runtime)
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
    // Returns after the commit of the answer's effects.
    let reply = await runtime.updateAndCommit(known.sessionID) { machine, step in
      machine.apply(.answer(known.taskID, id, answer, shown: shown, tag: tags.first), &step)
    }
    let isAccepted = if case .done? = reply { true } else { false }
    if !isAccepted, let newFile { spool.remove([newFile], of: session) }
    let now = try await decision(id)
    if isAccepted { return now }
    let isSame = now.answer == shown && (now.answerTag.map(tags.contains) ?? tags.isEmpty)
    guard now.state == .answered, isSame else { throw ServiceError.decisionSettled(now.state) }
    return now
  }

  /// Applies the rules for background tasks to a delegate's request too.
  private func checkBackground(_ request: TransferRequest, of decision: Decision) throws(InvalidFields) {
    guard let task = runtime.task(decision.taskID)?.task,
      runtime.session(task.sessionID)?.type == .background,
      let fault = request.backgroundFault(of: task.kind)
    else { return }
    throw InvalidFields([FieldViolation(pointer: "/request/body", detail: fault)])
  }

  /// Restores the parts of the decision's event on which the answer depends.
  private func shown(by decision: Decision) -> DecisionAnswer.DecisionContext {
    var shown = DecisionAnswer.DecisionContext(type: decision.type)
    if decision.defaultAnswer == OpenDecision.defaultAnswer(to: .taskDidReceiveChallenge) {
      shown.method = decision.challengeMethod
    }
    if decision.type == .dataTaskWillCacheResponse {
      let arguments = try? JSONParser.parse(decision.arguments)
      shown.headers = HTTPHeaders(json: arguments?["response"]?["headers"])
    }
    guard let machine = runtime.task(decision.taskID), let question = machine.question,
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
  /// The authentication method, if the decision is a challenge.
  var challengeMethod: AuthenticationMethod? {
    let arguments = try? JSONParser.parse(self.arguments)
    return arguments?["protectionSpace"]?["authenticationMethod"]?.string.flatMap {
      AuthenticationMethod(rawValue: $0)
    }
  }
}
