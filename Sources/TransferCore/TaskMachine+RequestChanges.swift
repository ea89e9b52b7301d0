package import TransferModel

/// A client's change of the request. It applies to all later attempts. A running attempt whose response is still unknown to the client stops,
/// and the next attempt continues with its bytes.
extension TaskMachine {
  /// Why the request cannot change now; `nil` if it can.
  package var requestChangeRefusal: RequestChangeRefusal? {
    switch (task.state, task.activity) {
    case (.suspended, _), (.running, .queued), (.running, .waitingForConnectivity),
      (.running, .waitingToRetry):
      break
    case (.running, _), (.canceling, _), (.completed, _): return .state(task.state, task.phase)
    }
    guard executionState != .placing else { return .responded }
    guard executionState.isSubmitted else { return nil }
    if task.kind != .download, task.response != nil { return .responded }
    let request = task.submittedRequest
    if request.body?.isStream == true { return .streaming }
    let isSent = task.activity == .transferring || task.activity == .waitingForDecision
    return isSent && !request.isIdempotent && task.retryProgress == nil ? .sent(method: request.method) : nil
  }

  /// Stops an attempt whose request has changed.
  /// - Parameter url: the former URL.
  mutating func requestChanged(
    _ change: RequestChange, from url: String, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    effects.update(task)
    let isMoved = change.url != url
    switch executionState {
    case .unconfirmed,
      .executing where effects.runsInWorker:
      effects.send(.changeRequest(change), of: id)
    case .executing:
      settle(.withdrawn, session, at: now.wall, into: &effects)
      executionState = .restarting(isMoved: isMoved)
      effects.send(.cancel(keepsPartial: true), of: id)
    case .leaving: executionState = .restarting(isMoved: isMoved)
    case .restarting(let wasMoved): executionState = .restarting(isMoved: isMoved || wasMoved)
    case .creating, .idle, .placing, .ending:
      // The received body belongs to the former request.
      if let placement = task.placement { discardBody(of: placement.outcome, session, into: &effects) }
      task.placement = nil
    }
  }

  /// Handles a fact of an attempt whose request has changed. Clients learn nothing of that attempt.
  mutating func handle(
    _ fact: TransferFact, ofFormerRequest isMoved: Bool, _ session: borrowing TransferSession,
    at now: InputContext, into effects: inout SessionEffects
  ) {
    switch fact {
    case .began(_, let time):
      task.firstAttempt.start(at: time)
      attemptBegan(at: time, into: &effects)
    case .keptPartial(_, let point):
      task.partial = isMoved ? point.moved : point
      effects.update(task)
    case .ended(_, let outcome):
      restart(after: outcome, isMoved: isMoved, session, at: now, into: &effects)
    default: break
    }
  }

  private mutating func restart(
    after last: TransferOutcome, isMoved: Bool, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    var outcome = last
    outcome.dropResult(keeping: task.partial, isMoved: isMoved)
    discardBody(of: last, session, into: &effects)
    guard task.state != .canceling else {
      (outcome.currentRequest, outcome.response) = (task.currentRequest, task.response)
      return end(outcome, session, at: now, into: &effects)
    }
    if !outcome.wasSent { task.firstAttempt.withdraw() }
    guard leaveAttempt(outcome, session, at: now, into: &effects) || !outcome.wasSent else {
      outcome.error = TransferError(
        .networkConnectionLost,
        "the request was sent before the change; Ferry does not repeat \(outcome.currentRequest.method)",
        failingURL: outcome.currentRequest.url)
      return end(outcome, session, at: now, into: &effects)
    }
    (task.response, task.partial) = (nil, outcome.partial)
    executionState = .idle(goesOn: effects.isLeaving && task.state == .running)
    effects.update(task)
    if !effects.isLeaving { startIfReady(session, at: now, into: &effects) }
  }
}

extension SessionMachine {
  /// Why the request of a task cannot change now; `nil` if it can, or if the task is not in memory.
  package func requestChangeRefusal(of id: TaskID) -> RequestChangeRefusal? {
    tasks.read(id) { $0.requestChangeRefusal } ?? nil
  }
}

extension TransferOutcome {
  /// Whether a request may have reached an origin.
  var wasSent: Bool { transactions.contains { $0.requestStart != nil } }

  /// Removes the body of an attempt whose request has changed, and keeps the bytes from which the next one can continue.
  /// - Parameter point: the point from which the attempt continued.
  mutating func dropResult(keeping point: ResumePoint?, isMoved: Bool) {
    let isWhole = error == nil && (200..<300).contains(response?.status ?? 0)
    // The response of an origin that refused the request leaves the bytes on disk unchanged.
    if isRefusedByStatus, !isWhole { partial = point }
    if isMoved { partial = partial?.moved }
    (body, blob, size, sha256) = (nil, nil, 0, "")
  }
}
