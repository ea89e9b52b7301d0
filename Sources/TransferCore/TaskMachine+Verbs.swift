package import TransferModel

/// What clients do with a task.
extension TaskMachine {
  /// URLSessionTask.resume(). A no-op on a task that is being cancelled.
  mutating func resume(_ session: borrowing TransferSession, at now: Now, into turn: inout Turn) {
    let before = task.lifecycle
    let action = task.lifecycle.resume()
    guard task.lifecycle != before else { return }
    if action == .run {
      // The engine or the worker reports again what else it waits for.
      task.activity =
        question != nil ? .waitingForDecision : task.retryWait != nil ? .waitingToRetry : task.usualPhase
      turn.tell(task.stateEvent(at: now.wall), of: task, in: session)
      if place.isSubmitted { turn.order(.resume, of: id) }
    }
    turn.update(task)
    launch(session, at: now, into: &turn)
  }

  /// URLSessionTask.suspend(). Nests; a no-op on a task that is being cancelled.
  mutating func suspend(_ session: borrowing TransferSession, at now: Now, into turn: inout Turn) {
    let before = task.lifecycle
    let action = task.lifecycle.suspend()
    guard task.lifecycle != before else { return }
    if action == .pause {
      turn.tell(task.stateEvent(at: now.wall), of: task, in: session)
      if place.isSubmitted { turn.order(.suspend, of: id) }
    }
    turn.update(task)
  }

  /// URLSessionTask.cancel(). The end comes later, as NSURLErrorCancelled; with the same turn where nobody carries it out.
  mutating func cancel(
    keepsPartial: Bool, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    guard task.lifecycle.cancel() == .cancel else { return }
    settle(.withdrawn, session, at: now.wall, into: &turn)
    turn.tell(task.stateEvent(at: now.wall), of: task, in: session)
    if place.isSubmitted {
      turn.order(.cancel(keepsPartial: keepsPartial), of: id)
      turn.update(task)
    } else {
      end(task.outcome(.cancelled, "cancelled", at: now.wall), session, at: now, into: &turn)
    }
  }

  /// A client changes what may be changed of it.
  mutating func change(
    _ patch: TaskPatch, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    task = patch.applied(to: task)
    turn.respecified.append(task)
    if let priority = patch.priority, place.isSubmitted { turn.order(.setPriority(priority), of: id) }
    if let limit = patch.maximumBytesPerSecond, place.isSubmitted {
      turn.order(.setLimit(bytesPerSecond: limit), of: id)
    }
    guard let date = patch.earliestBeginDate else { return }
    if place.isSubmitted {
      turn.order(.setBeginDate(date), of: id)
      // Whether it has begun by then, the row says to the next service.
      turn.update(task)
    }
    launch(session, at: now, into: &turn)
  }

  // MARK: Beginning

  /// Hands a running task over that nobody carries out: at once, at its begin date, or when its delegate agrees.
  mutating func launch(_ session: borrowing TransferSession, at now: Now, into turn: inout Turn) {
    guard task.state == .running, isIdle else { return }
    let (hasBegun, goesOn) = (task.beginning != .notYet, place.goesOn)
    let isLeaving = turn.isLeaving && !turn.isCarriedElsewhere
    // That its begin date has come was told, and only who has begun is known for that.
    guard !isLeaving || hasBegun else {
      place = .idle(goesOn: true)
      return turn.update(task)
    }
    // The worker waits for the date itself, even if this process dies. If a delegate must be asked, this process waits and asks.
    let asks = task.earliestBeginDate != nil && session.delegate(of: task)?.asksForDelayedRequests == true
    let date = asks || !turn.isCarriedElsewhere ? task.earliestBeginDate : nil
    if let date, date > now.wall {
      turn.submissions.remove(id)
      return turn.alarms.append(.begin(id, at: date))
    }
    guard turn.submissions.submit(self, session, at: now) else {
      // The session's queue calls it later. If this process dies, another submits it.
      guard !turn.isCarriedElsewhere, !goesOn else { return }
      place = .idle(goesOn: true)
      return turn.update(task)
    }
    if date != nil, !hasBegun {
      // urlSession(_:task:willBeginDelayedRequest:completionHandler:)
      let payload = TransferEvent.Payload.delayed(task.currentRequest)
      guard !asks else {
        ask(
          .delayedRequest, number: nil, .taskWillBeginDelayedRequest, payload, at: now.wall, session,
          into: &turn)
        // That it waits for neither the date nor another process any more, the row says to the next service.
        place = .idle(goesOn: false)
        return turn.update(task)
      }
      turn.tell(.taskWillBeginDelayedRequest, at: now.wall, payload, of: task, in: session)
    }
    // Its request may have gone out once, by a process that is gone.
    let isRepeated = task.beginning.mayHaveBegun && !turn.isCarriedElsewhere
    if isRepeated { task.retryCount += 1 }
    task.beginning.submit()
    place = .carried
    // It waits for its date no more, however the clock is set when the next service begins; nor for another process.
    if isRepeated || goesOn || task.earliestBeginDate != nil { turn.update(task) }
    turn.order(.submit(task))
    guard isLeaving, task.canMove else { return }
    leave()
    turn.order(.cancel(keepsPartial: true), of: id)
  }
}

extension TransferTask {
  /// Whether another process can carry it out as though this one had not: nothing was told of its answer, and its request may be sent once
  /// more.
  var canMove: Bool {
    guard currentRequest.body?.isStream != true else { return false }
    return startedAt == nil || currentRequest.isIdempotent && (kind == .download || response == nil)
  }

  /// Whoever carried it out has stopped, so that it goes on elsewhere.
  /// - Returns: false where it cannot.
  mutating func goOnElsewhere(from outcome: TransferOutcome) -> Bool {
    guard canMove else { return false }
    partial = outcome.partial
    return true
  }

  /// The outcome of a task that ends without an engine. What it was to go on from is still there.
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
