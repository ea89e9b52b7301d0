package import TransferModel

/// The commands of clients.
extension TaskMachine {
  /// URLSessionTask.resume(). Does nothing on a task that is being cancelled.
  mutating func resume(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) {
    let before = task.lifecycle
    let action = task.lifecycle.resume()
    guard task.lifecycle != before else { return }
    if action == .run {
      task.retryProgress?.endSuspension(at: now.wall)
      // The engine or the worker will report any other reason to wait again.
      task.activity =
        question != nil ? .waitingForDecision : task.retryWait != nil ? .waitingToRetry : task.usualPhase
      effects.emit(task.stateEvent(at: now.wall), of: task, in: session)
      if executionState.isSubmitted { effects.send(.resume, of: id) }
    }
    effects.update(task)
    startIfReady(session, at: now, into: &effects)
  }

  /// URLSessionTask.suspend(). Suspensions nest. Does nothing on a task that is being cancelled.
  mutating func suspend(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) {
    let before = task.lifecycle
    let action = task.lifecycle.suspend()
    guard task.lifecycle != before else { return }
    if action == .pause {
      task.retryProgress?.suspendedAt = now.wall
      effects.emit(task.stateEvent(at: now.wall), of: task, in: session)
      if executionState.isSubmitted { effects.send(.suspend, of: id) }
    }
    effects.update(task)
  }

  /// URLSessionTask.cancel(). A submitted task ends later, with NSURLErrorCancelled. Any other task ends at once.
  mutating func cancel(
    keepsPartial: Bool, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    guard !isBeingRenamed, task.lifecycle.cancel() == .cancel else { return }
    settle(.withdrawn, session, at: now.wall, into: &effects)
    effects.emit(task.stateEvent(at: now.wall), of: task, in: session)
    if executionState.isSubmitted {
      effects.send(.cancel(keepsPartial: keepsPartial), of: id)
      effects.update(task)
    } else if executionState == .placing {
      effects.placements.append(.cancel(id))
      effects.update(task)
    } else {
      var outcome = task.outcome(.cancelled, "cancelled", at: now.wall)
      if keepsPartial { outcome.keep(task.partial) }
      end(outcome, session, at: now, into: &effects)
    }
  }

  /// Applies a client's changes.
  mutating func change(
    _ patch: TaskPatch, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    let url = task.submittedRequest.url
    task = patch.applied(to: task)
    effects.respecified.append(task)
    if let change = patch.request { requestChanged(change, from: url, session, at: now, into: &effects) }
    if let priority = patch.priority, executionState.isSubmitted {
      effects.send(.setPriority(priority), of: id)
    }
    if let limit = patch.maximumBytesPerSecond, executionState.isSubmitted {
      effects.send(.setLimit(bytesPerSecond: limit), of: id)
    }
    guard let date = patch.earliestBeginDate else { return }
    if executionState.isSubmitted {
      effects.send(.setBeginDate(date), of: id)
      // The row shows the next service whether the task had begun by then.
      effects.update(task)
    }
    startIfReady(session, at: now, into: &effects)
  }

  // MARK: Start

  /// Submits an idle running task: now, at its begin date, or when its delegate agrees.
  mutating func startIfReady(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) {
    guard task.state == .running, isIdle else { return }
    guard task.placement == nil else { return startPlacement(session, at: now, into: &effects) }
    guard !mustWait(session, at: now, into: &effects) else { return }
    let (hasBegun, goesOn) = (task.firstAttempt != .notStarted, executionState.goesOn)
    let isLeaving = effects.isLeaving && !effects.runsInWorker
    // A service that hands over a session starts only tasks whose start was announced already.
    guard !isLeaving || hasBegun else {
      executionState = .idle(goesOn: true)
      return effects.update(task)
    }
    // The worker waits for the date itself, even if this process crashes. If a delegate decides, the service waits and opens the decision.
    let asks = task.earliestBeginDate != nil && session.delegate(of: task)?.asksForDelayedRequests == true
    let date = asks || !effects.runsInWorker ? task.earliestBeginDate : nil
    if let date, date > now.wall {
      effects.submissions.remove(id)
      return effects.timers.append(.begin(id, at: date))
    }
    guard effects.submissions.submit(self, session, at: now) else {
      // The queue calls the task later. If this service crashes, the next one submits the task.
      guard !effects.runsInWorker, !goesOn else { return }
      executionState = .idle(goesOn: true)
      return effects.update(task)
    }
    if date != nil, !hasBegun {
      // urlSession(_:task:willBeginDelayedRequest:completionHandler:)
      let payload = TransferEvent.Payload.delayed(task.currentRequest)
      guard !asks else {
        requestDecision(
          .delayedRequest, number: nil, .taskWillBeginDelayedRequest, payload, at: now.wall, session,
          into: &effects)
        // The row shows the next service that the task waits for neither its date nor another service.
        executionState = .idle(goesOn: false)
        return effects.update(task)
      }
      effects.emit(.taskWillBeginDelayedRequest, at: now.wall, payload, of: task, in: session)
    }
    let isAttempt = retryPolicy(session) != nil
    // A service that is gone may have sent the request once.
    let isLost = isAttempt ? task.retryProgress?.isActive == true : task.firstAttempt.mayHaveBegun
    let isRepeated = isLost && !effects.runsInWorker
    if isRepeated { task.retryCount += 1 }
    task.firstAttempt.submit()
    if isAttempt { beginAttempt(session, at: now, into: &effects) }
    executionState = .executing
    // The row must say that the task no longer waits for its date or for another service, even if the clock is set back.
    if isAttempt || isRepeated || goesOn || task.earliestBeginDate != nil { effects.update(task) }
    effects.send(.submit(task))
    guard isLeaving, canRetryElsewhere(session) else { return }
    leave()
    effects.send(.cancel(keepsPartial: true), of: id)
  }
}

extension TransferTask {
  /// Whether another service can run the task unnoticed: clients know nothing of its response yet, and its request may be repeated.
  var canContinueElsewhere: Bool {
    guard currentRequest.body?.isStream != true else { return false }
    return startedAt == nil || currentRequest.isIdempotent && (kind == .download || response == nil)
  }

  /// Records the resume point of a transfer that stopped for another service.
  /// - Returns: `false` if the task cannot move.
  mutating func continueElsewhere(from outcome: TransferOutcome) -> Bool {
    guard canContinueElsewhere else { return false }
    partial = outcome.partial
    return true
  }

  /// Returns the outcome of a task that ends without an engine. The resume point is kept.
  package func outcome(_ code: URLErrorCode, _ message: String, at time: Timestamp) -> TransferOutcome {
    var error = TransferError(code, message, failingURL: currentRequest.url)
    error.resumeDataAvailable = resumePoint != nil
    var outcome = TransferOutcome(
      error: error, currentRequest: currentRequest, response: response, progress: progress,
      transactions: [], endedAt: time)
    outcome.partial = resumePoint
    return outcome
  }
}
