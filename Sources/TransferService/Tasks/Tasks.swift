internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import HTTPFields
internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Use cases of tasks.
struct Tasks: Sendable {
  /// The limit, in seconds, of the wait for an end that is being committed.
  static let waitLimit = 30.0

  let runtime: SessionRuntime
  let sessions: Sessions
  let identifiers: IdentifierSource

  var spool: RequestSpool { RequestSpool(runtime: runtime) }
  private var store: any Ledger { runtime.recorder.store }

  // MARK: Reading

  func task(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    let known = runtime.task(id)
    if let known, !known.isEnding, !known.isCreating { return known.task }
    // A task's end is committed, and event streams may report it, shortly before its machine removes the task.
    do throws(LedgerError) {
      let task = try await store.task(id)
      if let task, known?.isEnding != true || task.state == .completed {
        if let row = store.unreadable.row(.session, task.sessionID) { throw LedgerError.unreadable(row) }
        return task
      }
    } catch {
      guard known?.isEnding == true else { throw .store(error) }
    }
    guard let known, known.isEnding else { throw .taskNotFound }
    return known.task
  }

  /// - Returns: the metrics of a finished task as JSON, or `nil` if there are none.
  func metrics(of id: TaskID) async throws(ServiceError) -> [UInt8]? {
    do throws(LedgerError) { return try await store.metrics(of: id) } catch { throw .store(error) }
  }

  /// Waits until the task's end is committed, or `seconds` have passed.
  /// - Parameter isPatient: whether the wait also ends when the service begins to stop.
  /// - Returns: the task as committed at its end, if it has ended.
  @discardableResult
  func waitForEnd(of task: TaskID, seconds: Double, isPatient: Bool = false) async -> TransferTask? {
    guard let session = runtime.directory[task] else { return nil }
    let waiter = Waiter()
    // Under the session's lock: a task that is present has not yet called the waiters for its end.
    let ticket = runtime.read(at: session) { machine in
      !machine.tasks.contains(task) ? nil : runtime.waiters.add(waiter, for: task, isPatient: isPatient)
    }
    guard let ticket, let ticket else { return nil }
    runtime.deadlines.add(.wait(ticket), after: seconds)
    await waiter.wait()
    runtime.deadlines.remove(.wait(ticket))
    return runtime.waiters.remove(ticket)
  }

  // MARK: Creating

  /// Creates all tasks or none, in one commit. Tasks that are created resumed then start.
  /// - Parameter reply: makes the reply to store for repeated requests with the same Idempotency-Key, or returns `nil` for none.
  func create(
    _ specifications: [TaskSpecification], in session: TransferSession,
    reply: @escaping @Sendable ([TransferTask]) -> IdempotentReply? = { _ in nil }
  ) async throws(ServiceError) -> [TransferTask] {
    guard !runtime.waiters.isDraining else { throw .draining }
    // Checked early, so that no bodies are written for tasks that would be refused. `SessionRuntime.create` makes the binding check.
    if let refusal = runtime.read(at: session.id, { $0.refusal(ofTasks: specifications.count) }) ?? nil {
      throw ServiceError(refusal)
    }
    let isUnheard = session.type == .background && !runtime.hub.hasListeners(of: session)
    var wanted = specifications.map { specification in
      var task = NewTask(id: identifiers.make(), specification)
      task.specification.isDiscretionary = isUnheard
      return task
    }
    let place = "requests/\(identifiers.make(TaskID.self))"
    let bodies = try await spool.write(&wanted, in: session)
    var partials = PartialFileMoves(in: runtime.engine.bodies(of: session.id, session.type))
    await partials.move(to: &wanted)
    do throws(ServiceError) {
      try keepInMemory(wanted, of: session, as: place)
      return try await runtime.create(wanted, in: session.id, reply: reply)
    } catch {
      runtime.engine.memoryFiles.release(place, of: session.id)
      spool.remove(bodies, of: session)
      await partials.undo()
      if case .sessionNotFound = error { throw sessions.notFoundError(session.id) }
      throw error
    }
  }

  /// Refuses a destination outside the directories of its tenant.
  func check(_ destination: Destination?, of tenant: Tenant) throws(ServiceError) {
    guard let destination else { return }
    let directories = runtime.placer.store?.directories ?? DestinationDirectories()
    guard directories.place(of: destination.file, for: tenant) == nil else { return }
    throw .destinationNotPermitted(
      hasDirectories: directories.entries.contains { $0.tenant == nil || $0.tenant == tenant })
  }

  /// Reserves memory for the bodies and other large values of an ephemeral session's requests, until the session ends.
  private func keepInMemory(
    _ tasks: [NewTask], of session: TransferSession, as name: String
  ) throws(ServiceError) {
    guard session.type == .ephemeral else { return }
    let files = runtime.engine.memoryFiles
    let size = tasks.map(\.specification).reduce(0) {
      $0 + $1.request.bodySizeInMemory + MemoryFiles.bytesToReserve(forValueOf: $1.textSize)
    }
    guard files.hasRoom(forRows: Int64(tasks.count) * MemoryFiles.rowSize),
      size == 0 || files.reserve(Int64(size), as: name, of: session.id)
    else {
      throw .memoryFull(limit: files.capacity)
    }
  }

  // MARK: Commands

  /// URLSessionTask.resume(). A no-op on a finished task.
  func resume(_ id: TaskID) async throws(ServiceError) -> TransferTask { try await give(.resume(id), to: id) }

  /// URLSessionTask.suspend(). Nests; a no-op on a finished task.
  func suspend(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await give(.suspend(id), to: id)
  }

  /// URLSessionTask.cancel(). The task ends later with NSURLErrorCancelled. A no-op on a finished task.
  /// - Parameter keepsPartial: whether a download's bytes are kept for resume data
  ///   (URLSessionDownloadTask.cancel(byProducingResumeData:)).
  func cancel(_ id: TaskID, keepsPartial: Bool = false) async throws(ServiceError) -> TransferTask {
    try await give(.cancel(id, keepsPartial: keepsPartial), to: id)
  }

  /// Starts the next attempt of a waiting task now.
  func retryNow(_ id: TaskID) async throws(ServiceError) -> TransferTask {
    try await give(.retryNow(id), to: id)
  }

  private func give(_ input: SessionInput, to id: TaskID) async throws(ServiceError) -> TransferTask {
    switch await runtime.handle(input, to: id) {
    case .task(let task): return task
    case .evicted:
      _ = try await task(id)
      throw .storeUnavailable("the task cannot be read")
    default: return try await task(id)
    }
  }

  /// Changes a task if `isExpected` accepts its current version (If-Match).
  /// - Parameter request: the change of the request, which needs values of the current one; `nil` for none.
  func patch(
    _ id: TaskID, _ patch: TaskPatch, _ request: RequestPatch? = nil,
    if isExpected: @escaping @Sendable (TransferTask) -> Bool
  ) async throws(ServiceError) -> TransferTask {
    if let result = await patchUnfinished(id, patch, request, if: isExpected) { return try result.get() }
    await waitForEnd(of: id, seconds: Self.waitLimit)
    return try await patchEnded(id, patch, changesRequest: request != nil, if: isExpected)
  }

  private func patchEnded(
    _ id: TaskID, _ patch: TaskPatch, changesRequest: Bool, if isExpected: @Sendable (TransferTask) -> Bool
  ) async throws(ServiceError) -> TransferTask {
    try await runtime.recorder.write { () async throws(ServiceError) in
      let ended = try await task(id)
      guard isExpected(ended) else { throw .preconditionFailed }
      guard !changesRequest else {
        guard ended.state == .completed else { throw .storeUnavailable("the change was not committed") }
        throw .requestInUse(.state(ended.state, nil))
      }
      var change = LedgerChange()
      let task = patch.applied(to: ended)
      change.editedTasks = [task]
      change.owner = task.sessionID
      change.conditions = [.unchanged(ended)]
      return (change, task)
    }
  }

  /// - Returns: `nil` if the task has ended, or if its change was not committed.
  private func patchUnfinished(
    _ id: TaskID, _ patch: TaskPatch, _ request: RequestPatch?,
    if isExpected: @escaping @Sendable (TransferTask) -> Bool
  ) async -> Result<TransferTask, ServiceError>? {
    await withCheckedContinuation { continuation in
      let isThere = runtime.update(task: id) { machine, step in
        var result: Result<TransferTask, ServiceError>?
        do throws(ServiceError) {
          result = try Self.apply(patch, request, to: id, &machine, &step, if: isExpected).map {
            .success($0)
          }
        } catch {
          result = .failure(error)
        }
        let told = result
        step.onCommit.append { continuation.resume(returning: $0 ? told : nil) }
      }
      if !isThere { continuation.resume(returning: nil) }
    }
  }

  private static func apply(
    _ patch: TaskPatch, _ request: RequestPatch?, to id: TaskID, _ machine: inout SessionMachine,
    _ step: inout SessionTransition, if isExpected: (TransferTask) -> Bool
  ) throws(ServiceError) -> TransferTask? {
    guard let known = machine.task(id), !known.isEnding else { return nil }
    guard isExpected(known.task) else { throw .preconditionFailed }
    var patch = patch
    if let request {
      if let refusal = known.requestChangeRefusal { throw .requestInUse(refusal) }
      patch.request = try request.change(of: known.task.submittedRequest)
    }
    switch machine.apply(.change(id, patch), &step) {
    case .task(let task): return task
    case .refused(.requestInUse(let refusal)): throw .requestInUse(refusal)
    case .refused: throw .submittedTasksFull
    default: return nil
    }
  }
}
