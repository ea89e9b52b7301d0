internal import TransferModel

/// The facts that the engine or the worker reports about a task.
extension TaskMachine {
  mutating func handle(
    _ fact: TransferFact, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    guard !isEnding, executionState != .placing else { return }
    if case .leaving = executionState, fact.isAnswered { return }
    if case .restarting(let isMoved) = executionState {
      return handle(fact, ofFormerRequest: isMoved, session, at: now, into: &effects)
    }
    guard !holdsBack(fact, session, at: now, into: &effects) else { return }
    switch fact {
    case .progress(_, let counts, let time):
      task.note(counts, isWatched: now.hasProgressListeners, at: time, into: &effects)
    case .ended(_, var outcome):
      if case .leaving = executionState, task.state != .canceling, outcome.error?.reason == .url(.cancelled) {
        guard !leaveAttempt(outcome, session, at: now, into: &effects) else {
          executionState = .idle(goesOn: task.state == .running)
          return effects.update(task)
        }
        outcome.endAsInterrupted()
      } else if retries(after: &outcome, session, at: now, into: &effects) {
        return
      }
      guard !beginPlacement(of: outcome, session, into: &effects) else { return }
      end(outcome, session, at: now, into: &effects)
    case .keptPartial(_, let point):
      task.partial = point
      effects.update(task)
    case .authenticated(_, let space, let credential):
      if effects.runsInWorker { effects.credentials.append((space, credential)) }
    case .asked(_, let number, let question, let time):
      handle(question, number, at: time, session, into: &effects)
    case .response(_, let response, let body, let time):
      task.note(response, body.token, into: &effects)
      // URLSession does not call this method for background uploads.
      if task.kind != .upload || !effects.runsInWorker {
        effects.emit(.dataTaskDidReceiveResponse, at: time, .response(response), of: task, in: session)
      }
    case .accepted(_, let response): task.note(response, nil, into: &effects)
    case .willCache(_, let response, let size, let time):
      effects.emit(
        .dataTaskWillCacheResponse, at: time, .willCache(response, size: size), of: task, in: session)
    case .waitsForConnectivity(_, let time):
      task.waitForConnectivity(at: time, session, into: &effects)
    case .began(_, let time): began(at: time, session, into: &effects)
    case .redirected(_, let response, let request, let time):
      effects.replaceRequest(of: &task, with: request)
      // URLSession does not call this method in background sessions, which always follow redirects.
      if session.type != .background {
        effects.emit(
          .taskWillPerformHTTPRedirection, at: time, .redirected(response, to: request), of: task, in: session
        )
      }
    case .notified(_, let notification, let time):
      effects.emit(notification.type, at: time, .notification(notification), of: task, in: session)
    case .resumed(_, let offset, let total, let time):
      task.recordResumeOffset(at: offset, of: total, time, session, into: &effects)
    case .willRetry(_, let count, let time, let wait): retries(count, wait, at: time, session, into: &effects)
    case .beganDelayed(_, let time): beganDelayed(at: time, session, into: &effects)
    case .attemptReplaced(_, let time): wasTakenOver(at: time, session, into: &effects)
    }
    // The next service must know the facts of the worker, and of suspended and retried tasks. This row is their only copy.
    if writesFacts(effects) || task.state == .suspended, !isEnding, fact.changesRow {
      effects.update(task)
    }
  }

  /// Whether the row follows the facts, so that another service can continue the task.
  func writesFacts(_ effects: borrowing SessionEffects) -> Bool {
    effects.runsInWorker || task.retryProgress != nil
  }

  mutating func handle(
    _ question: TransferQuestion, _ number: Int, at time: Timestamp, _ session: borrowing TransferSession,
    into effects: inout SessionEffects
  ) {
    switch question {
    case .redirect(let response, let proposed):
      effects.replaceRequest(of: &task, with: proposed)
      requestDecision(
        .redirect(proposed: proposed), number: number, .taskWillPerformHTTPRedirection,
        .redirected(response, to: proposed), at: time, session, into: &effects)
    case .challenge(let challenge, let type):
      requestDecision(
        .challenge(challenge.protectionSpace.authenticationMethod), number: number, type,
        .challenged(challenge), at: time, session, into: &effects)
    case .response(let response, let body):
      task.note(response, body.token, into: &effects)
      requestDecision(
        .response, number: number, .dataTaskDidReceiveResponse, .response(response), at: time, session,
        into: &effects)
    case .caching(let response, let size):
      requestDecision(
        .caching, number: number, .dataTaskWillCacheResponse, .willCache(response, size: size), at: time,
        session, into: &effects)
    case .bodyStream:
      // The rest of the last body is useless, because the whole body is needed again.
      if let body = upload.removeUsed() { effects.droppedUploads.append(body) }
      requestDecision(
        .bodyStream, number: number, .taskNeedNewBodyStream, .none, at: time, session, into: &effects)
      // The client may be sending already.
      provideBody(session, at: time, into: &effects)
    }
  }

  private mutating func began(
    at time: Timestamp, _ session: borrowing TransferSession, into effects: inout SessionEffects
  ) {
    task.firstAttempt.start(at: time)
    attemptBegan(at: time, into: &effects)
    // Each attempt counts its own bytes, because it sends and receives them again.
    (task.progress.countOfBytesSent, task.progress.countOfBytesReceived) = (0, 0)
    task.enter(.transferring, at: time, session, into: &effects)
  }

  // MARK: Worker

  mutating func retries(
    _ count: Int, _ wait: RetryWait, at time: Timestamp, _ session: borrowing TransferSession,
    into effects: inout SessionEffects
  ) {
    settle(.withdrawn, session, at: time, into: &effects)
    task.currentRequest = task.submittedRequest
    task.retryCount = count
    task.retryWait = wait
    task.enter(.waitingToRetry, at: time, session, into: &effects)
  }

  private mutating func beganDelayed(
    at time: Timestamp, _ session: borrowing TransferSession, into effects: inout SessionEffects
  ) {
    // The worker waits for the begin date after everything else, so the task is queued now.
    task.enter(.queued, at: time, session, into: &effects)
    effects.emit(.taskWillBeginDelayedRequest, at: time, .delayed(task.currentRequest), of: task, in: session)
  }

  /// Withdraws the decision of an attempt that is gone. The next attempt will request it again.
  private mutating func wasTakenOver(
    at time: Timestamp, _ session: borrowing TransferSession, into effects: inout SessionEffects
  ) {
    settle(.withdrawn, session, at: time, into: &effects)
    task.currentRequest = task.submittedRequest
    task.enter(.queued, at: time, session, into: &effects)
  }
}

extension TransferFact {
  /// Whether the fact requests a decision, so that its sender waits for an answer.
  fileprivate var isAnswered: Bool { if case .asked = self { true } else { false } }

  /// Whether the fact changes the row of a background or suspended task.
  fileprivate var changesRow: Bool {
    switch self {
    case .progress, .authenticated, .willCache, .accepted, .notified: false
    case .began, .redirected, .response, .waitsForConnectivity, .asked, .resumed, .keptPartial,
      .ended, .willRetry, .beganDelayed, .attemptReplaced:
      true
    }
  }
}
