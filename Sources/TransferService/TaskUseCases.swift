internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

extension TransferService {
  /// Creates tasks, all or none, with one commit; those that ask for it start to run.
  /// - Parameter reply: what repeats under an Idempotency-Key get.
  func createTasks(
    _ specifications: [TaskSpecification], in sessionID: SessionID,
    reply: @Sendable ([TransferTask]) -> IdempotentReply? = { _ in nil }
  ) async throws(ServiceError) -> [TransferTask] {
    let count = specifications.count
    let limit = limits.unfinishedTasks
    let (first, session) = try reserve(count, in: sessionID, limit: limit)
    var change = StoreChange()
    let time = now
    let secrets = session.configuration.secretHeaderFields
    let isUnheard = session.type == .background && !hub.hasListeners(of: session)
    for (offset, specification) in specifications.enumerated() {
      var specification = specification
      specification.isDiscretionary = isUnheard
      if !secrets.isEmpty { specification.request.secretHeaderFields = secrets }
      var task = TransferTask(
        id: identifiers.make(), sessionID: sessionID, taskIdentifier: first + offset, createdAt: time,
        specification: specification)
      var events = [
        TransferEvent(.taskDidCreate, at: time, session: sessionID, task: task.id, .created(task))
      ]
      if specification.resume {
        _ = task.lifecycle.resume()
        task.phase = .queued
        events.append(Self.stateEvent(of: task, at: time))
      }
      change.createdTasks.append(task)
      note(events, of: task, in: session, into: &change)
    }
    change.lastIdentifiers[sessionID] = first + count - 1
    change.idempotentReply = reply(change.createdTasks)
    change.repliedSession = sessionID
    let tasks = change.createdTasks
    // Before they are on the disk: whoever reads of them there must find them here.
    registry.withLock { registry in
      for task in tasks { registry.insert(.init(task: task, creation: [])) }
    }
    let room = "requests/\(identifiers.make(TaskID.self))"
    do throws(ServiceError) {
      try keepInMemory(specifications, of: session, as: room)
      try await write(change)
    } catch {
      engine.memoryFiles.release(room, of: sessionID)
      registry.withLock { $0.endCreation(of: tasks.lazy.map(\.id), isWritten: false) }
      released(count, in: sessionID)
      throw error
    }
    begin(tasks, in: sessionID)
    return tasks
  }

  /// What an ephemeral session's requests send counts among its bodies, until it is over.
  private func keepInMemory(
    _ specifications: [TaskSpecification], of session: TransferSession, as name: String
  ) throws(ServiceError) {
    guard session.type == .ephemeral else { return }
    let size = specifications.reduce(0) { $0 + Int64($1.request.body?.data?.count ?? 0) }
    let files = engine.memoryFiles
    guard size == 0 || files.reserve(size, as: name, of: session.id) else {
      throw .memoryFull(limit: files.capacity)
    }
  }

  private func reserve(
    _ count: Int, in id: SessionID, limit: Int
  ) throws(ServiceError) -> (Int, TransferSession) {
    let result: Result<(Int, TransferSession), ServiceError> = registry.withLock { registry in
      do throws(ServiceError) {
        let first = try registry.reserve(count, in: id, limit: limit)
        guard let session = registry.sessions[id]?.session else { return .failure(.sessionNotFound) }
        return .success((first, session))
      } catch {
        return .failure(error)
      }
    }
    do { return try result.get() } catch .sessionNotFound { throw missing(id) }
  }

  /// Committed tasks come alive.
  private func begin(_ tasks: [TransferTask], in session: SessionID) {
    registry.withLock { registry in
      registry.endCreation(of: tasks.lazy.map(\.id), isWritten: true)
      var change = StoreChange()
      if registry.sessions[session]?.cancelsTasks == true {
        for task in tasks { cancel(task.id, &registry, &change) }
      }
      launch(
        tasks.compactMap { registry.tasks[$0.id]?.task.state == .running ? $0.id : nil }, &registry, &change)
      recordAny(change)
    }
  }

  static func stateEvent(of task: TransferTask, at time: Timestamp) -> TransferEvent {
    let phase = task.state == .running ? task.phase : nil
    return TransferEvent(
      .taskDidChangeState, at: time, session: task.sessionID, task: task.id, .stateChanged(task.state, phase))
  }

  // MARK: Reading

  func task(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    let entry = registry.withLock { $0.tasks[id] }
    if let entry, !entry.isEnding, entry.creation == nil { return entry.task }
    // An end is on the disk, where streams may read of it, a moment before the registry lets go of the task.
    do throws(StoreError) {
      let task = try await store.task(id)
      if let task, entry?.isEnding != true || task.state == .completed {
        if let row = store.unreadable.row("session", task.sessionID) {
          throw StoreError.unreadable(row)
        }
        return task
      }
    } catch {
      guard entry?.isEnding == true else { throw .store(error) }
    }
    guard let entry, entry.isEnding else { throw .taskNotFound }
    return entry.task
  }

  /// A page of a session's tasks, oldest first, each as it is now.
  func tasks(_ query: TaskQuery) async throws(ServiceError) -> [TransferTask] {
    _ = try session(query.session)
    let stored: [TransferTask]
    do throws(StoreError) { stored = try await store.tasks(query) } catch { throw .store(error) }
    return registry.withLock { registry in
      stored.map { $0.state == .completed ? $0 : registry.tasks[$0.id]?.task ?? $0 }
    }
  }

  /// Returns once the task's end is committed, when `seconds` have passed, or when the service is about to stop.
  func waitPatientlyForEnd(of task: TaskID, seconds: Double) async {
    await waitForEnd(of: task, seconds: seconds, isPatient: true)
  }

  func waitForEnd(of task: TaskID, seconds: Double, isPatient: Bool = false) async {
    let waiter = Waiter()
    let entered: UInt64? = registry.withLock { registry in
      guard !isPatient || !registry.isDraining, let number = registry.wait(for: task, { waiter.resume() })
      else { return nil }
      registry.endWaiters[number] = (waiter, isPatient)
      return number
    }
    guard let number = entered else { return }
    deadlines.add(.wait(number), after: seconds)
    await waiter.wait()
    deadlines.remove(.wait(number))
    registry.withLock { registry in
      registry.tasks[task]?.waiters[number] = nil
      registry.endWaiters[number] = nil
    }
  }

  /// The metrics of a finished task as JSON; nil where there are none.
  func metrics(of id: TaskID) async throws(ServiceError) -> [UInt8]? {
    do throws(StoreError) { return try await store.metrics(of: id) } catch { throw .store(error) }
  }

  // MARK: Verbs

  /// URLSessionTask.resume(). A no-op on a finished task.
  func resume(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await change(id) { registry, task, change in
      guard task.lifecycle.resume() == .run else { return [] }
      let time = self.now  // before the engine knows: its own events come later
      let entry = registry.tasks[id]
      let isSubmitted = entry?.isSubmitted ?? false
      let goesOn: TaskPhase = task.startedAt == nil ? .queued : .transferring
      let waits = entry?.waitsToRetry == true
      task.phase = entry?.question != nil ? .waitingForDecision : waits ? .waitingToRetry : goesOn
      if isSubmitted { self.carrier(of: task.sessionID).resume(id, in: task.sessionID, into: &change) }
      return [Self.stateEvent(of: task, at: time)]
    } after: { registry, task, change in
      if registry.tasks[id]?.isSubmitted == false { self.submit(id, &registry, &change) }
    }
  }

  /// URLSessionTask.suspend(). Nests; a no-op on a finished task.
  func suspend(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await change(id) { registry, task, change in
      guard task.lifecycle.suspend() == .pause else { return [] }
      task.phase = nil
      if registry.tasks[id]?.isSubmitted == true {
        self.carrier(of: task.sessionID).suspend(id, in: task.sessionID, into: &change)
      }
      return [Self.stateEvent(of: task, at: self.now)]
    }
  }

  /// URLSessionTask.cancel(). The end comes later, as NSURLErrorCancelled; a no-op on a finished task.
  func cancel(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await cancel(id, keepsPartial: false)
  }

  /// URLSessionDownloadTask.cancel(byProducingResumeData:): the task as it ended, and what it can go on from; nil
  /// where it cannot.
  func cancelProducingResumeData(
    _ id: TaskID
  ) async throws(ServiceError) -> (task: TransferTask, resumeData: String?) {
    let task = try await cancel(id, keepsPartial: true)
    guard task.state == .canceling else { return (task, resumeData(of: task)) }
    await waitForEnd(of: id, seconds: 30)
    let ended = try await self.task(id)
    return (ended, resumeData(of: ended))
  }

  private func cancel(_ id: TaskID, keepsPartial: Bool) async throws(ServiceError) -> TransferTask {
    try await change(id) { registry, task, change in
      guard task.lifecycle.cancel() == .cancel else { return [] }
      task.phase = nil
      self.settle(id, .withdrawn, answer: nil, &registry, &change)
      self.stop(task, keepsPartial: keepsPartial, registry, &change)
      return [Self.stateEvent(of: task, at: self.now)]
    } after: { registry, task, _ in
      self.endUnlessSubmitted(task, &registry)
    }
  }

  /// Cancels a task from within the lock, as a delegate's answer does.
  func cancel(_ id: TaskID, _ registry: inout TransferRegistry, _ change: inout StoreChange) {
    guard var task = registry.tasks[id]?.task, let session = registry.sessions[task.sessionID]?.session,
      task.lifecycle.cancel() == .cancel
    else { return }
    task.phase = nil
    settle(id, .withdrawn, answer: nil, &registry, &change)
    registry.tasks[id]?.task = task
    change.updatedTasks.append(task)
    note([Self.stateEvent(of: task, at: now)], of: task, in: session, into: &change)
    stop(task, keepsPartial: false, registry, &change)
    guard registry.tasks[id]?.isSubmitted != true else { return }
    recordSoFar(&change)
    endUnlessSubmitted(task, &registry)
  }

  /// Tells whoever carries it out.
  private func stop(
    _ task: TransferTask, keepsPartial: Bool, _ registry: TransferRegistry, _ change: inout StoreChange
  ) {
    guard registry.tasks[task.id]?.isSubmitted == true else { return }
    carrier(of: task.sessionID).cancel(
      task.id, in: task.sessionID, keepsPartial: keepsPartial, into: &change)
  }

  /// Ends a cancelled task that nobody carries out.
  private func endUnlessSubmitted(_ task: TransferTask, _ registry: inout TransferRegistry) {
    guard task.state == .canceling, registry.tasks[task.id]?.isSubmitted != true else { return }
    end(&registry, task, task.outcome(.cancelled, "cancelled", at: now))
  }

  /// Changes a live task under the lock, queues the write of what changed, and returns once that is committed. A task that is
  /// being created is changed when its row is written, and before it begins.
  /// - Parameter after: runs under the same lock when the write is queued; what it adds is written behind it.
  private func change(
    _ id: TaskID,
    _ body:
      @escaping @Sendable (inout TransferRegistry, inout TransferTask, inout StoreChange) ->
      [TransferEvent],
    after: @escaping @Sendable (inout TransferRegistry, TransferTask, inout StoreChange) -> Void = {
      _, _, _ in
    }
  ) async throws(ServiceError) -> TransferTask {
    let changed: TransferTask? = await withCheckedContinuation { continuation in
      registry.withLock { registry in
        registry.whenCreated(id) { [self] registry in
          guard let entry = registry.tasks[id], !entry.isEnding,
            let session = registry.sessions[entry.task.sessionID]?.session
          else { return continuation.resume(returning: nil) }
          var task = entry.task
          var change = StoreChange()
          let events = body(&registry, &task, &change)
          registry.tasks[id]?.task = task
          change.updatedTasks = [task]
          note(events, of: task, in: session, into: &change)
          let result = task
          record(change) { continuation.resume(returning: result) }
          var next = StoreChange()
          after(&registry, task, &next)
          recordAny(next)
        }
      }
    }
    if let changed { return changed }
    return try await task(id)
  }
}
