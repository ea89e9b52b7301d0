package import TransferModel

/// The end of a task.
extension TaskMachine {
  /// Adds the end to the effects. The machine shows the unfinished task until the end is committed, because a crash could still undo the
  /// end.
  mutating func end(
    _ told: TransferOutcome, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    guard !isEnding else { return assertionFailure("a task must end only once") }
    var outcome = told
    if task.state == .canceling {
      // A task that is being cancelled ends as cancelled, even if its transfer has succeeded (Apple, URLSessionTask.cancel()).
      if case .file = outcome.body, task.placement == nil {
        effects.unwantedBodies.append(BlobKey(id, .body, outcome.blob))
      }
      outcome.endAsCancelled()
    }
    if let placement = task.placement, outcome.body == nil {
      discardBody(of: placement.outcome, session, into: &effects)
    }
    settle(.withdrawn, session, at: outcome.endedAt, into: &effects)
    if task.earliestBeginDate != nil || task.retryCount > 0 || effects.submissions.isLarge(task) {
      effects.timers.append(.cancelBegin(id))
    }
    clearSuspicion(into: &effects)
    if let body = upload.token { effects.droppedUploads.append(body) }
    effects.respondedTasks.append(id)
    executionState = .ending
    let ended = task.ended(with: outcome, keptFor: session.configuration.bodyRetention)
    // An earlier attempt may have left bytes that no attempt continued.
    if task.retryProgress != nil, let file = task.partialKey, ended.partialKey != file {
      effects.unwantedBodies.append(file)
    }
    // The last request of a delegate may never have been sent.
    if let file = task.replacementBodyKey, ended.replacementBodyKey != file {
      effects.unwantedBodies.append(file)
    }
    if case .memory(let bytes) = outcome.body, outcome.placed == nil {
      effects.smallBodies.append((id, bytes))
    }
    effects.update(ended)
    effects.ended.append(id)
    if now.hasProgressListeners, let delivery = ended.wholeDataEvent {
      effects.append(delivery, of: ended)
    }
    for event in ended.endEvents(at: outcome.endedAt) { effects.emit(event, of: ended, in: session) }
  }

  /// Replaces a data task by a download. The data task reports nothing more.
  /// - Parameters:
  ///   - number: the number of the decision with that answer.
  ///   - taskIdentifier: the download's.
  mutating func becomeDownload(
    _ number: Int?, taskIdentifier: Int, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) -> TaskMachine {
    clearSuspicion(into: &effects)
    // The download keeps the client's settings, except those for the data task's start and end.
    var specification = task.specification
    specification.kind = .download
    (specification.earliestBeginDate, specification.resumePoint) = (nil, nil)
    (specification.completion, specification.isAwaited) = (nil, false)
    var download = TransferTask(
      id: effects.identifiers.make(at: now.wall), sessionID: task.sessionID, taskIdentifier: taskIdentifier,
      createdAt: now.wall, specification: specification)
    download.continueAs(task)
    executionState = .ending
    if let body = upload.removeOffered() { effects.droppedUploads.append(body) }
    var ended = task
    _ = ended.lifecycle.complete()
    ended.firstAttempt.end()
    ended.completedAt = now.wall
    ended.downloadTask = download.id
    effects.created.append(download)
    // The download's progress is in another column of its row than its specification.
    effects.update(download)
    effects.update(ended)
    effects.ended.append(id)
    effects.emit(.taskDidCreate, at: now.wall, .created(download), of: download, in: session)
    effects.emit(
      .dataTaskDidBecomeDownloadTask, at: now.wall, .becameDownload(download), of: ended, in: session)
    if download.state == .running {
      effects.emit(download.stateEvent(at: now.wall), of: download, in: session)
    }
    effects.answer(number, of: id, .becomeDownload(download.id))
    return TaskMachine(download, at: .executing)
  }
}

extension TransferOutcome {
  /// Changes the outcome to that of a task whose service stopped.
  mutating func endAsInterrupted() {
    error = TransferError(
      .networkConnectionLost, "the service stopped while the task was running",
      failingURL: currentRequest.url)
    error?.resumeDataAvailable = partial != nil
  }

  /// Changes the outcome to that of a task that was cancelled before its end was reported.
  package mutating func endAsCancelled() {
    guard error?.reason != .url(.cancelled) else { return }
    error = TransferError(.cancelled, "cancelled", failingURL: currentRequest.url)
    error?.resumeDataAvailable = partial != nil
    (body, blob, size, sha256) = (nil, nil, 0, "")
  }
}

extension TransferTask {
  /// Returns the task with its outcome.
  /// - Parameter retention: seconds for which its body is kept.
  package func ended(with outcome: TransferOutcome, keptFor retention: Double) -> TransferTask {
    var task = self
    _ = task.lifecycle.complete()
    (task.retryWait, task.retryProgress, task.placement) = (nil, nil, nil)
    task.firstAttempt.end()
    task.currentRequest = outcome.currentRequest
    task.response = outcome.response
    task.progress = outcome.progress
    task.error = outcome.error
    task.partial = outcome.partial
    task.completedAt = outcome.endedAt
    task.metrics = TaskMetrics(
      start: task.createdAt, end: outcome.endedAt, transactions: outcome.transactions)
    let expiresAt = outcome.endedAt.adding(seconds: retention)
    task.partialExpiresAt = outcome.partial == nil ? nil : expiresAt
    if outcome.body != nil {
      let placed = outcome.placed
      task.body = TaskBody(
        size: outcome.size, sha256: outcome.sha256, expiresAt: placed == nil ? expiresAt : nil,
        blob: placed == nil ? outcome.blob : nil, placed: placed)
    }
    return task
  }

  /// The event `urlSession(_:dataTask:didReceive:)` of a task whose data is delivered as a whole; `nil` if there is none.
  package var wholeDataEvent: TransferEvent? {
    guard kind != .download, !preferences.prefersIncrementalDelivery, error == nil || body != nil,
      progress.countOfBytesReceived > 0, let completedAt
    else { return nil }
    return TransferEvent(
      .dataTaskDidReceiveData, at: completedAt, session: sessionID, task: id,
      .progress(progress, delta: progress.countOfBytesReceived))
  }

  /// Returns the events that report the end of an ended task.
  package func endEvents(at time: Timestamp) -> [TransferEvent] {
    func event(_ type: EventType, _ payload: TransferEvent.Payload) -> TransferEvent {
      TransferEvent(type, at: time, session: sessionID, task: id, payload)
    }
    var events: [TransferEvent] = []
    if kind == .download, error == nil, let body {
      events.append(
        event(
          .downloadTaskDidFinishDownloading,
          .finishedDownloading(body, suggestedFilename: response?.suggestedFilename)))
    }
    if let metrics { events.append(event(.taskDidFinishCollectingMetrics, .metrics(metrics))) }
    events.append(event(.taskDidComplete, .completed(self)))
    return events
  }

  /// Copies the state of the data task that this download replaces.
  package mutating func continueAs(_ task: TransferTask) {
    lifecycle = task.lifecycle
    activity = .transferring
    (currentRequest, startRequest) = (task.currentRequest, task.startRequest)
    response = task.response
    progress = task.progress
    // The download's own body begins at zero.
    progress.countOfBytesReceived = 0
    firstAttempt = task.firstAttempt
  }
}
