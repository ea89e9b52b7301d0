internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// How a task gets from running to the engine: at once, at its begin date, or when its delegate agrees.
extension TransferService {
  /// Lets running tasks begin. Tasks of one session that may go at once go together.
  func launch(
    _ ids: some Sequence<TaskID>, _ registry: inout TransferRegistry, _ change: inout StoreChange
  ) {
    var jobs: [TransferJob] = []
    for id in ids where mayBegin(id, &registry, &change) {
      if let job = takeJob(id, &registry) { jobs.append(job) }
    }
    if let first = jobs.first { carrier(of: first.session).submit(jobs, into: &change) }
  }

  /// Lets a task go on that its delegate was asked about; a suspended one begins when it is resumed.
  func submit(_ id: TaskID, _ registry: inout TransferRegistry, _ change: inout StoreChange) {
    if registry.tasks[id]?.task.state == .running { launch([id], &registry, &change) }
  }

  private func takeJob(_ id: TaskID, _ registry: inout TransferRegistry) -> TransferJob? {
    guard let entry = registry.tasks[id], !entry.isSubmitted, !entry.isEnding, entry.task.state != .canceling,
      let session = registry.sessions[entry.task.sessionID]?.session
    else { return nil }
    registry.tasks[id]?.isSubmitted = true
    return TransferJob(entry.task, in: session)
  }

  /// False where the task has to wait: for its begin date, or for its delegate.
  private func mayBegin(
    _ id: TaskID, _ registry: inout TransferRegistry, _ change: inout StoreChange
  ) -> Bool {
    guard let entry = registry.tasks[id], entry.creation == nil, entry.question == nil else { return false }
    guard let date = entry.task.earliestBeginDate else { return true }
    let session = registry.sessions[entry.task.sessionID]?.session
    let asks = session?.delegate(of: entry.task)?.asksForDelayedRequests == true
    // Whoever carries it out waits, whether this process lives or not; a delegate is asked by this one.
    if !asks, let background, background.has(entry.task.sessionID) { return true }
    guard date <= now else {
      deadlines.add(.begin(id), at: date)
      return false
    }
    return entry.hasBegun || beginDelayed(id, &registry, &change)
  }

  /// urlSession(_:task:willBeginDelayedRequest:completionHandler:)
  private func beginDelayed(
    _ id: TaskID, _ registry: inout TransferRegistry, _ change: inout StoreChange
  ) -> Bool {
    guard let task = registry.tasks[id]?.task, let session = registry.sessions[task.sessionID]?.session else {
      return false
    }
    registry.tasks[id]?.hasBegun = true
    let payload = TransferEvent.Payload.delayed(task.currentRequest)
    guard session.delegate(of: task)?.asksForDelayedRequests != true else {
      ask(
        .delayedRequest, number: nil, .taskWillBeginDelayedRequest, payload, of: id, at: now, &registry,
        &change)
      return false
    }
    let event = TransferEvent(.taskWillBeginDelayedRequest, at: now, session: session.id, task: id, payload)
    note([event], of: task, in: session, into: &change)
    return true
  }

  /// A time that something waited for has come.
  func deadlinePassed(_ purpose: DeadlineQueue.Purpose) {
    switch purpose {
    case .decision(let id): expire(id)
    case .wait(let number): registry.withLock { $0.endWaiters[number]?.waiter }?.resume()
    case .begin(let id):
      registry.withLock { registry in
        var change = StoreChange()
        submit(id, &registry, &change)
        recordAny(change)
      }
    }
  }
}
