internal import EventLoop
internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

extension TransferService {
  /// Takes what a worker tells: the registry first, then one write for the whole batch. On the worker's thread.
  func absorb(_ facts: [TransferFact]) {
    var batch = Batch()
    registry.withLock { registry in
      for fact in facts { absorb(fact, &registry, &batch) }
      guard batch.hasFacts || !batch.ended.isEmpty else {
        // Progress keeps its place among the events, but needs no disk.
        if !batch.change.events.isEmpty { record(StoreChange(progress: batch.change.events)) }
        return
      }
      let finished = batch.ended
      record(batch.change) { [self] in conclude(finished) }
    }
    for wake in batch.headWaiters { wake() }
  }

  /// What a batch of facts comes to.
  struct Batch {
    var change = StoreChange()
    /// Tasks that are not as they were.
    var touched: Set<TaskID> = []
    var ended: [TaskID] = []
    var hasFacts = false
    var headWaiters: [@Sendable () -> Void] = []
  }

  func absorb(_ fact: TransferFact, _ registry: inout TransferRegistry, _ batch: inout Batch) {
    switch fact {
    case .progress(let id, let counts, let time):
      return absorb(counts, of: id, at: time, &registry, &batch.change)
    case .ended(let ended, let outcome):
      // The engine had not heard yet that the task goes on as a download.
      let id = registry.downloads[ended] ?? ended
      guard let task = registry.tasks[id]?.task else { return }
      batch.headWaiters += registry.takeHeadWaiters(id)
      if append(end: outcome, of: task, &registry, &batch.change) { batch.ended.append(id) }
    case .keeps(let id, let point):
      guard registry.tasks[id]?.isEnding == false else { return }
      registry.tasks[id]?.task.partial = point
      if let task = registry.tasks[id]?.task { batch.change.updatedTasks.append(task) }
    case .authenticated(let id, let space, let credential):
      guard let session = registry.tasks[id]?.task.sessionID, credential.persistence == .permanent else {
        return
      }
      batch.change.credentials.append(.init(session: session, space: space, credential: credential))
    case .asked(let id, let number, let question, let time):
      absorb(question, number, of: id, at: time, &registry, &batch)
    case .response(let id, let response, let live, let time):
      note(response, live, of: id, &registry, &batch)
      tell(id, &registry, &batch.change) { [self] task in
        // URLSession does not call it for background uploads.
        guard task.kind != .upload || background?.has(task.sessionID) != true else { return [] }
        return [Self.event(.dataTaskDidReceiveResponse, of: task, at: time, .response(response))]
      }
    case .accepted(let id, let response): note(response, nil, of: id, &registry, &batch)
    case .willCache(let id, let response, let size, let time):
      tell(id, &registry, &batch.change) { task in
        [Self.event(.dataTaskWillCacheResponse, of: task, at: time, .willCache(response, size: size))]
      }
    case .waitsForConnectivity(let id, let time):
      let session = registry.tasks[id].flatMap { registry.sessions[$0.task.sessionID]?.session }
      tell(id, &registry, &batch.change) { task in
        Self.waitEvents(of: &task, at: time, isTold: session?.type != .background)
      }
    case .began(let id, let time):
      registry.tasks[id]?.waitsToRetry = false
      tell(id, &registry, &batch.change) { task in
        task.startedAt = task.startedAt ?? time
        // An attempt counts for itself: what an earlier one moved is moved again.
        (task.progress.countOfBytesSent, task.progress.countOfBytesReceived) = (0, 0)
        guard task.state == .running, task.phase != .transferring else { return [] }
        task.phase = .transferring
        return [Self.stateEvent(of: task, at: time)]
      }
    case .redirected(let id, let response, let request, let time):
      let session = registry.tasks[id].flatMap { registry.sessions[$0.task.sessionID]?.session }
      tell(id, &registry, &batch.change) { task in
        task.currentRequest = request
        // URLSession does not call it in background sessions, where redirects are always followed.
        guard session?.type != .background else { return [] }
        return [
          Self.event(.taskWillPerformHTTPRedirection, of: task, at: time, .redirected(response, to: request))
        ]
      }
    case .informational(let id, let status, let headers, let time):
      tell(id, &registry, &batch.change) { task in
        let payload = TransferEvent.Payload.informational(status: status, headers: headers)
        return [Self.event(.taskDidReceiveInformationalResponse, of: task, at: time, payload)]
      }
    case .resumed(let id, let offset, let total, let time):
      tell(id, &registry, &batch.change) { task in
        guard task.kind == .download else {
          // URLSession has no such call for uploads.
          task.progress.countOfBytesSent = offset
          return []
        }
        task.progress.countOfBytesReceived = offset
        let payload = TransferEvent.Payload.resumed(offset: offset, expectedTotal: total)
        return [Self.event(.downloadTaskDidResumeAtOffset, of: task, at: time, payload)]
      }
    }
    batch.hasFacts = true
  }

  private func absorb(
    _ question: TransferQuestion, _ number: Int, of id: TaskID, at time: Timestamp,
    _ registry: inout TransferRegistry, _ batch: inout Batch
  ) {
    switch question {
    case .redirect(let response, let proposed):
      registry.tasks[id]?.task.currentRequest = proposed
      ask(
        .redirect(proposed: proposed), number: number, .taskWillPerformHTTPRedirection,
        .redirected(response, to: proposed), of: id, at: time, &registry, &batch.change)
    case .challenge(let challenge, let type):
      ask(challenge, number: number, type, of: id, at: time, &registry, &batch.change)
    case .response(let response, let live):
      note(response, live, of: id, &registry, &batch)
      ask(
        .response, number: number, .dataTaskDidReceiveResponse, .response(response), of: id, at: time,
        &registry, &batch.change)
    case .caching(let response, let size):
      ask(
        .caching, number: number, .dataTaskWillCacheResponse, .willCache(response, size: size), of: id,
        at: time, &registry, &batch.change)
    case .bodyStream:
      if case .used(let stream) = registry.tasks[id]?.upload {
        stream.detach()  // what is left of it is of no use: the whole is needed again
        registry.tasks[id]?.upload = .none
      }
      ask(
        .bodyStream, number: number, .taskNeedNewBodyStream, .none, of: id, at: time, &registry,
        &batch.change)
      // The client may be sending already.
      provideBody(id, &registry, &batch.change)
    }
  }

  /// The head of an answer is here: those who wait for it may read on.
  private func note(
    _ response: TransferResponse, _ live: (any BodyToken)?, of id: TaskID, _ registry: inout TransferRegistry,
    _ batch: inout Batch
  ) {
    guard let session = registry.tasks[id]?.task.sessionID else { return }
    registry.tasks[id]?.task.response = response
    // A part's length is not the whole's, and a HEAD's brings nothing: progress tells.
    if response.status != 206, registry.tasks[id]?.task.currentRequest.method != "HEAD" {
      registry.tasks[id]?.task.progress.countOfBytesExpectedToReceive = response.expectedContentLength
    }
    if let live = live as? LiveBody {
      hub.attach(live, of: id, in: session, tenant: registry.tenant(of: session))
    }
    batch.headWaiters += registry.takeHeadWaiters(id)
  }

  private func absorb(
    _ counts: TaskProgress, of id: TaskID, at time: Timestamp, _ registry: inout TransferRegistry,
    _ change: inout StoreChange
  ) {
    guard let task = registry.tasks[id]?.task else { return }
    let sent = counts.countOfBytesSent - task.progress.countOfBytesSent
    let received = counts.countOfBytesReceived - task.progress.countOfBytesReceived
    registry.tasks[id]?.task.progress = counts
    let session = task.sessionID
    guard hub.wantsProgress(of: id, in: session, tenant: registry.tenant(of: session)) else { return }
    if sent > 0 {
      change.events.append(
        Self.event(.taskDidSendBodyData, of: task, at: time, .progress(counts, delta: sent)))
    }
    // What is delivered whole is told when it is whole.
    if received > 0, task.preferences.prefersIncrementalDelivery || task.kind == .download {
      let type: EventType = task.kind == .download ? .downloadTaskDidWriteData : .dataTaskDidReceiveData
      change.events.append(Self.event(type, of: task, at: time, .progress(counts, delta: received)))
    }
  }

  func tell(
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
  func append(
    end told: TransferOutcome, of task: TransferTask, _ registry: inout TransferRegistry,
    _ change: inout StoreChange
  ) -> Bool {
    guard let entry = registry.tasks[task.id], !entry.isEnding,
      let session = registry.sessions[task.sessionID]?.session
    else { return false }
    var outcome = told
    if task.state == .canceling {
      // It was as good as over; but once a task is marked as being canceled, it ends so (Apple, URLSessionTask.cancel()).
      if case .file = outcome.body {
        let bodies = engine.bodies(of: session.id, session.type)
        pool.submit { bodies.remove(task.id) }
      }
      outcome.endAsCancelled()
    }
    registry.tasks[task.id]?.isEnding = true
    settle(task.id, .withdrawn, answer: nil, &registry, &change)
    if task.earliestBeginDate != nil { deadlines.remove(.begin(task.id)) }
    entry.upload.stream?.detach()
    let ended = task.ended(with: outcome, keptFor: session.configuration.bodyRetention)
    if case .memory(let bytes) = outcome.body { change.smallBodies[task.id] = bytes }
    change.updatedTasks.append(ended)
    if hub.wantsProgress(of: task.id, in: session.id, tenant: session.tenant),
      let delivery = ended.deliveryAtOnce
    {
      change.events.append(delivery)
    }
    note(ended.endEvents(at: outcome.endedAt), of: ended, in: session, into: &change)
    oweFinishedEvents(session.id, &registry, &change)
    wake(session, at: outcome.endedAt, into: &change)
    return true
  }

  /// urlSession(_:taskIsWaitingForConnectivity:): told once, however often the network goes; never in background
  /// sessions.
  private static func waitEvents(
    of task: inout TransferTask, at time: Timestamp, isTold: Bool
  ) -> [TransferEvent] {
    var events: [TransferEvent] = []
    if task.state == .running, task.phase != .waitingForConnectivity {
      task.phase = .waitingForConnectivity
      events.append(stateEvent(of: task, at: time))
    }
    if isTold, !task.hasWaitedForConnectivity {
      task.hasWaitedForConnectivity = true
      events.append(event(.taskIsWaitingForConnectivity, of: task, at: time, .none))
    }
    return events
  }

  private static func event(
    _ type: EventType, of task: TransferTask, at time: Timestamp, _ payload: TransferEvent.Payload
  ) -> TransferEvent {
    TransferEvent(type, at: time, session: task.sessionID, task: task.id, payload)
  }

  /// The ends are on the disk: forget the tasks, tell who waits, and perhaps end their sessions. On the store's
  /// thread.
  func conclude(_ ids: [TaskID]) {
    var waiters: [@Sendable () -> Void] = []
    registry.withLock { registry in
      for id in ids {
        guard let entry = registry.removeTask(id) else { continue }
        waiters += entry.waiters.values + entry.headWaiters
        released(1, in: entry.task.sessionID, &registry)
      }
    }
    for waiter in waiters { waiter() }
  }

  func released(_ count: Int, in session: SessionID) {
    registry.withLock { released(count, in: session, &$0) }
  }

  private func released(_ count: Int, in id: SessionID, _ registry: inout TransferRegistry) {
    registry.release(count, in: id)
    finishEvents(of: id, &registry)
    guard let session = registry.invalidateIfDone(id) else { return }
    retire(session)
  }
}
