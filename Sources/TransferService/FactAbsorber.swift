internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

extension TransferService {
  /// Takes what a worker tells: the registry first, then one write for the whole batch. On the worker's thread.
  func absorb(_ facts: [TransferFact]) {
    var progress: [TransferEvent] = []
    registry.withLock { registry in
      var change = StoreChange()
      var ended: [TaskID] = []
      for fact in facts { absorb(fact, &registry, &change, &ended, &progress) }
      guard !change.events.isEmpty || !ended.isEmpty else { return }
      let finished = ended
      record(change) { [self] in conclude(finished) }
    }
    for event in progress { hub.publishProgress(event) }
  }

  private func absorb(
    _ fact: TransferFact, _ registry: inout TransferRegistry, _ change: inout StoreChange,
    _ ended: inout [TaskID], _ progress: inout [TransferEvent]
  ) {
    switch fact {
    case .began(let id, let time):
      tell(id, &registry, &change) { task in
        task.startedAt = time
        guard task.state == .running else { return [] }
        task.phase = .transferring
        return [Self.stateEvent(of: task, at: time)]
      }
    case .redirected(let id, let response, let request, let time):
      tell(id, &registry, &change) { task in
        task.currentRequest = request
        return [
          Self.event(.taskWillPerformHTTPRedirection, of: task, at: time, .redirected(response, to: request))
        ]
      }
    case .informational(let id, let status, let headers, let time):
      tell(id, &registry, &change) { task in
        let payload = TransferEvent.Payload.informational(status: status, headers: headers)
        return [Self.event(.taskDidReceiveInformationalResponse, of: task, at: time, payload)]
      }
    case .response(let id, let response, let time):
      tell(id, &registry, &change) { task in
        task.response = response
        task.progress.countOfBytesExpectedToReceive = response.expectedContentLength
        return [Self.event(.dataTaskDidReceiveResponse, of: task, at: time, .response(response))]
      }
    case .progress(let id, let counts, let time):
      guard var task = registry.tasks[id]?.task else { return }
      let delta = counts.countOfBytesReceived - task.progress.countOfBytesReceived
      task.progress = counts
      registry.tasks[id]?.task = task
      guard delta > 0, hub.hasListeners(session: task.sessionID, task: id) else { return }
      let type: EventType = task.kind == .download ? .downloadTaskDidWriteData : .dataTaskDidReceiveData
      progress.append(Self.event(type, of: task, at: time, .progress(counts, delta: delta)))
    case .ended(let id, let outcome):
      guard let task = registry.tasks[id]?.task else { return }
      if append(end: outcome, of: task, &registry, &change) { ended.append(id) }
    }
  }

  private func tell(
    _ id: TaskID, _ registry: inout TransferRegistry, _ change: inout StoreChange,
    _ body: (inout TransferTask) -> [TransferEvent]
  ) {
    guard var task = registry.tasks[id]?.task, let session = registry.sessions[task.sessionID]?.session else {
      return
    }
    let events = body(&task)
    registry.tasks[id]?.task = task
    note(events, of: task, in: session, into: &change)
  }

  /// Ends a task outside of a batch of facts.
  func end(_ registry: inout TransferRegistry, _ task: TransferTask, _ outcome: TransferOutcome) {
    var change = StoreChange()
    guard append(end: outcome, of: task, &registry, &change) else { return }
    record(change) { [self] in conclude([task.id]) }
  }

  /// Adds a task's end to `change`. The registry keeps showing the task as it was until that is committed: nobody
  /// is told of an end that a crash could undo.
  private func append(
    end outcome: TransferOutcome, of task: TransferTask, _ registry: inout TransferRegistry,
    _ change: inout StoreChange
  ) -> Bool {
    guard let entry = registry.tasks[task.id], !entry.isEnding,
      let session = registry.sessions[task.sessionID]?.session
    else { return false }
    registry.tasks[task.id]?.isEnding = true
    var task = task
    _ = task.lifecycle.complete()
    task.phase = nil
    task.currentRequest = outcome.currentRequest
    task.response = outcome.response
    task.progress = outcome.progress
    task.error = outcome.error
    task.completedAt = outcome.endedAt
    task.metrics = TaskMetrics(
      start: task.createdAt, end: outcome.endedAt, transactions: outcome.transactions)
    if let body = outcome.body {
      let expiresAt = outcome.endedAt.adding(seconds: session.configuration.bodyRetention)
      task.body = TaskBody(size: outcome.size, sha256: outcome.sha256, expiresAt: expiresAt)
      if case .memory(let bytes) = body { change.smallBodies[task.id] = bytes }
    }
    change.updatedTasks.append(task)
    note(Self.endEvents(of: task, at: outcome.endedAt), of: task, in: session, into: &change)
    return true
  }

  private static func endEvents(of task: TransferTask, at time: Timestamp) -> [TransferEvent] {
    var events: [TransferEvent] = []
    if task.kind == .download, let body = task.body {
      let name = task.response?.suggestedFilename
      events.append(
        event(
          .downloadTaskDidFinishDownloading, of: task, at: time,
          .finishedDownloading(body, suggestedFilename: name)))
    }
    if let metrics = task.metrics {
      events.append(event(.taskDidFinishCollectingMetrics, of: task, at: time, .metrics(metrics)))
    }
    events.append(event(.taskDidComplete, of: task, at: time, .completed(task)))
    return events
  }

  private static func event(
    _ type: EventType, of task: TransferTask, at time: Timestamp, _ payload: TransferEvent.Payload
  ) -> TransferEvent {
    TransferEvent(type, at: time, session: task.sessionID, task: task.id, payload)
  }

  /// The outcome of a task that ends without the engine.
  static func outcome(
    of task: TransferTask, _ code: URLErrorCode, _ message: String, at time: Timestamp
  ) -> TransferOutcome {
    TransferOutcome(
      error: TransferError(code, message, failingURL: task.currentRequest.url),
      currentRequest: task.currentRequest, response: task.response, progress: task.progress, transactions: [],
      endedAt: time)
  }

  /// The ends are on the disk: forget the tasks, tell who waits, and perhaps end their sessions. On the store's
  /// thread.
  private func conclude(_ ids: [TaskID]) {
    var waiters: [@Sendable () -> Void] = []
    registry.withLock { registry in
      for id in ids {
        guard let entry = registry.tasks.removeValue(forKey: id) else { continue }
        waiters += entry.waiters.values
        released(1, in: entry.task.sessionID, &registry)
      }
    }
    for waiter in waiters { waiter() }
  }

  func released(_ count: Int, in session: SessionID) {
    registry.withLock { released(count, in: session, &$0) }
  }

  private func released(_ count: Int, in id: SessionID, _ registry: inout TransferRegistry) {
    guard registry.release(count, in: id), let session = registry.sessions[id]?.session else { return }
    record(change(toInvalid: session))
    engine.forget(id)
  }
}
