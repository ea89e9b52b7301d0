package import TransferModel

/// How a task ends.
extension TaskMachine {
  /// Adds the end to the turn. The machine keeps showing the task as it was until that commit holds: nobody is told of an end that
  /// a crash could undo.
  mutating func end(
    _ told: TransferOutcome, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    guard !isEnding else { return assertionFailure("a task ends twice") }
    var outcome = told
    if task.state == .canceling {
      // It was as good as over; but once a task is marked as being canceled, it ends so (Apple, URLSessionTask.cancel()).
      if case .file = outcome.body { turn.unwantedBodies.append(BlobKey(id, .body, outcome.blob)) }
      outcome.endAsCancelled()
    }
    settle(.withdrawn, session, at: outcome.endedAt, into: &turn)
    if task.earliestBeginDate != nil || turn.submissions.isLarge(task) {
      turn.alarms.append(.cancelBegin(id))
    }
    if let body = upload.token { turn.droppedUploads.append(body) }
    turn.heads.append(id)
    place = .ending
    let ended = task.ended(with: outcome, keptFor: session.configuration.bodyRetention)
    // The last request of a delegate may never have been sent.
    if let file = task.replacementBodyKey, ended.replacementBodyKey != file {
      turn.unwantedBodies.append(file)
    }
    if case .memory(let bytes) = outcome.body { turn.smallBodies.append((id, bytes)) }
    turn.update(ended)
    turn.ended.append(id)
    if now.isWatched, let delivery = ended.deliveryAtOnce { turn.events.append(delivery) }
    for event in ended.endEvents(at: outcome.endedAt) { turn.tell(event, of: ended, in: session) }
  }

  /// A data task goes on as a download: it is silent from here on, and the download is in its place.
  /// - Parameters:
  ///   - number: of the question that was answered so.
  ///   - taskIdentifier: the download's.
  mutating func becomeDownload(
    _ number: Int?, taskIdentifier: Int, _ session: borrowing TransferSession, at now: Now,
    into turn: inout Turn
  ) -> TaskMachine {
    // The download keeps the client's settings, except those for the data task's start and end.
    var specification = task.specification
    specification.kind = .download
    (specification.earliestBeginDate, specification.resumePoint) = (nil, nil)
    (specification.completion, specification.isAwaited) = (nil, false)
    var download = TransferTask(
      id: turn.identifiers.make(at: now.wall), sessionID: task.sessionID, taskIdentifier: taskIdentifier,
      createdAt: now.wall, specification: specification)
    download.continueAs(task)
    place = .ending
    if let body = upload.dropReady() { turn.droppedUploads.append(body) }
    var ended = task
    _ = ended.lifecycle.complete()
    ended.beginning.end()
    ended.completedAt = now.wall
    ended.downloadTask = download.id
    turn.created.append(download)
    // How far it has come is another part of its row.
    turn.update(download)
    turn.update(ended)
    turn.ended.append(id)
    turn.tell(.taskDidCreate, at: now.wall, .created(download), of: download, in: session)
    turn.tell(
      .dataTaskDidBecomeDownloadTask, at: now.wall, .becameDownload(download), of: ended, in: session)
    if download.state == .running {
      turn.tell(download.stateEvent(at: now.wall), of: download, in: session)
    }
    turn.answer(number, of: id, .becomeDownload(download.id))
    return TaskMachine(download, at: .carried)
  }
}

extension TransferOutcome {
  /// What a task comes to that whoever carried it out could not finish.
  mutating func endAsInterrupted() {
    error = TransferError(
      .networkConnectionLost, "the service stopped while the task was running",
      failingURL: currentRequest.url)
    error?.resumeDataAvailable = partial != nil
  }

  /// What a task comes to that was cancelled before its end was told.
  package mutating func endAsCancelled() {
    guard error?.reason != .url(.cancelled) else { return }
    error = TransferError(.cancelled, "cancelled", failingURL: currentRequest.url)
    error?.resumeDataAvailable = partial != nil
    (body, blob, size, sha256) = (nil, nil, 0, "")
  }
}

extension TransferTask {
  /// The task as an outcome leaves it.
  /// - Parameter retention: seconds for which its body is kept.
  package func ended(with outcome: TransferOutcome, keptFor retention: Double) -> TransferTask {
    var task = self
    _ = task.lifecycle.complete()
    task.retryWait = nil
    task.beginning.end()
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
      task.body = TaskBody(
        size: outcome.size, sha256: outcome.sha256, expiresAt: expiresAt, blob: outcome.blob)
    }
    return task
  }

  /// urlSession(_:dataTask:didReceive:) of a task whose data is delivered whole; nil where there is none.
  package var deliveryAtOnce: TransferEvent? {
    guard kind != .download, !preferences.prefersIncrementalDelivery, error == nil,
      progress.countOfBytesReceived > 0, let completedAt
    else { return nil }
    return TransferEvent(
      .dataTaskDidReceiveData, at: completedAt, session: sessionID, task: id,
      .progress(progress, delta: progress.countOfBytesReceived))
  }

  /// What is told of the end of a task that has ended.
  package func endEvents(at time: Timestamp) -> [TransferEvent] {
    func event(_ type: EventType, _ payload: TransferEvent.Payload) -> TransferEvent {
      TransferEvent(type, at: time, session: sessionID, task: id, payload)
    }
    var events: [TransferEvent] = []
    if kind == .download, let body {
      events.append(
        event(
          .downloadTaskDidFinishDownloading,
          .finishedDownloading(body, suggestedFilename: response?.suggestedFilename)))
    }
    if let metrics { events.append(event(.taskDidFinishCollectingMetrics, .metrics(metrics))) }
    events.append(event(.taskDidComplete, .completed(self)))
    return events
  }

  /// Takes over what a data task has come to.
  package mutating func continueAs(_ task: TransferTask) {
    lifecycle = task.lifecycle
    activity = .transferring
    currentRequest = task.currentRequest
    response = task.response
    progress = task.progress
    // Its own body begins here.
    progress.countOfBytesReceived = 0
    beginning = task.beginning
  }
}
