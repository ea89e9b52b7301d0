internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import JSON
internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

package enum InvalidationMode: String, Sendable, CaseIterable {
  case finishTasks, cancelTasks
}

/// Use cases of sessions.
struct Sessions: Sendable {
  /// Tasks that one commit cancels. The limit lets other commits take their turns.
  private static let cancellationSlice = 512

  let runtime: SessionRuntime
  let names = SessionNameRegistry()
  let identifiers: IdentifierSource
  let limits: ServiceLimits

  private var recorder: ChangeRecorder { runtime.recorder }
  private var store: any Ledger { runtime.recorder.store }
  private var engine: any TransferExecuting { runtime.engine }

  // MARK: Reading

  func session(_ id: SessionID) throws(ServiceError) -> TransferSession {
    guard let session = runtime.session(id) else { throw notFoundError(id) }
    return session
  }

  /// Returns the session with the members that only its row has.
  func withConfiguration(_ session: TransferSession) async throws(ServiceError) -> TransferSession {
    guard session.isOutline else { return session }
    let row: TransferSession?
    do throws(LedgerError) { row = try await store.session(session.id) } catch { throw .store(error) }
    guard let row else { throw notFoundError(session.id) }
    return session.completed(from: row)
  }

  /// Calls `body` while the cookies and credentials of a session are in memory.
  func withStorage<Result>(
    of id: SessionID, _ body: () async throws(ServiceError) -> Result
  ) async throws(ServiceError) -> Result {
    guard await engine.storages.beginUse(of: id) else {
      // The session may have been deleted meanwhile.
      _ = try session(id)
      throw .storeUnavailable("the cookies and credentials of the session cannot be read")
    }
    defer { engine.storages.endUse(of: id) }
    return try await body()
  }

  /// Changes cookies or credentials in memory, and returns when the change is committed. Throws before any change if the ledger
  /// refuses writes.
  /// - Parameter body: makes the change in memory. For a background session it also adds the rows and the worker's command to the
  ///   `LedgerChange`.
  func changeStorage(
    of id: SessionID,
    _ body: (inout LedgerChange, _ isBackground: Bool) throws(ServiceError) -> Void
  ) async throws(ServiceError) {
    try await withStorage(of: id) { () async throws(ServiceError) in
      if let refusal = store.refusal { throw .store(refusal) }
      var change = LedgerChange()
      try body(&change, runtime.background?.has(id) == true)
      change.owner = id
      if !change.isEmpty { recorder.record(change) }
      try await recorder.flush()
    }
  }

  /// - Returns: the error for a session that is not in memory: not found, or unreadable.
  func notFoundError(_ id: SessionID) -> ServiceError {
    store.unreadable.row(.session, id).map { .storedDataUnreadable($0) } ?? .sessionNotFound
  }

  /// Returns a page of a tenant's sessions.
  func page(
    of tenant: Tenant, type: SessionType?, state: SessionState?, after: SessionID?, order: ListOrder,
    limit: Int
  ) -> [TransferSession] {
    let wanted = runtime.sessions().filter { session in
      session.tenant == tenant && (type == nil || session.type == type)
        && (state == nil || session.state == state)
        && after.map { order.isAscending($0, session.id) } ?? true
    }
    return Array(wanted.sorted { order.isAscending($0.id, $1.id) }.prefix(limit))
  }

  // MARK: Creating

  /// Returns the tenant's shared session, which is created on first use.
  func shared(of tenant: Tenant) -> SessionID {
    let id = SessionID.shared(of: tenant)
    guard runtime.session(id) == nil, store.unreadable.row(.session, id) == nil else { return id }
    let session = TransferSession.shared(id, of: tenant)
    // The row is recorded before the session can be found, so all later changes follow it. Recording it twice has no effect.
    var change = LedgerChange()
    change.sessions = [session]
    change.owner = session.id
    recorder.record(change)
    open(session)
    return id
  }

  /// Creates a session (URLSession.init(configuration:delegate:delegateQueue:)), or returns the background session that has the
  /// identifier.
  /// - Parameters:
  ///   - shard: the shard of the new session's id, or `nil` for any shard.
  ///   - reply: makes the reply that is stored under the Idempotency-Key.
  func create(
    _ specification: SessionSpecification, of tenant: Tenant, in shard: Shard? = nil,
    reply: @Sendable (TransferSession, _ isNew: Bool) -> IdempotentReply? = { _, _ in nil }
  ) async throws(ServiceError) -> (session: TransferSession, isNew: Bool) {
    guard !runtime.waiters.isDraining else { throw .draining }
    let id: SessionID = identifiers.make()
    let session = TransferSession(
      id: shard.map { id.inShard($0) } ?? id, type: specification.type, createdAt: identifiers.now(),
      description: specification.description, configuration: specification.configuration,
      delegate: specification.delegate, identifier: specification.identifier, tenant: tenant)
    guard let name = session.backgroundKey else {
      try await keep(session, reply)
      return (session, true)
    }
    if let known = await names.claim(name, { [runtime] in runtime.session($0) }) {
      let known = try await wholeForIdentifier(known)
      try check(known, for: session)
      var change = LedgerChange()
      change.answer(reply(known, false))
      change.owner = known.id
      if change.idempotentReply != nil { try await recorder.write(change) }
      return (known, false)
    }
    do throws(ServiceError) {
      try await keep(session, reply)
    } catch {
      names.release(name, to: nil)
      throw error
    }
    names.release(name, to: session.id)
    return (session, true)
  }

  /// Throws `identifierBeingInvalidated` if the session was deleted meanwhile.
  private func wholeForIdentifier(_ known: TransferSession) async throws(ServiceError) -> TransferSession {
    do throws(ServiceError) { return try await withConfiguration(known) } catch .sessionNotFound {
      throw .identifierBeingInvalidated
    }
  }

  /// Reserves memory for an ephemeral session until the session ends.
  private func keepInMemory(_ session: TransferSession) throws(ServiceError) {
    guard session.type == .ephemeral else { return }
    let (files, text) = (engine.memoryFiles, session.description?.utf8.count ?? 0)
    let size = MemoryFiles.bytesToReserve(forValueOf: session.configuration.json.count + text)
    guard files.hasRoom(forRows: MemoryFiles.rowSize),
      size == 0 || files.reserve(Int64(size), as: "session", of: session.id)
    else { throw .memoryFull(limit: files.capacity) }
  }

  private func keep(
    _ session: TransferSession, _ reply: (TransferSession, Bool) -> IdempotentReply?
  ) async throws(ServiceError) {
    try keepInMemory(session)
    var change = LedgerChange()
    change.sessions = [session]
    change.owner = session.id
    change.answer(reply(session, true))
    do throws(ServiceError) {
      try await recorder.write(change)
    } catch {
      engine.memoryFiles.release("session", of: session.id)
      throw error
    }
    open(session)
    runtime.update(session.id) { _ = $0.apply(.recoveredAll, &$1) }
  }

  /// Makes a session available.
  /// - Parameters:
  ///   - lastIdentifier: the last taskIdentifier that an earlier process assigned.
  ///   - pending: messages of an earlier process in the outbox.
  func open(
    _ session: TransferSession, lastIdentifier: Int = 0, pending: [(id: DeliveryID, isWakeUp: Bool)] = []
  ) {
    if session.type == .background, session.state != .invalid { runtime.background?.add(session.id) }
    var machine = SessionMachine(
      session, lastIdentifier: lastIdentifier, limit: limits.unfinishedTasks,
      residentBytes: limits.residentTaskBytes, submittedBytes: limits.submittedTaskBytes)
    machine.recover(pending)
    runtime.insert(machine)
    if session.type == .ephemeral { engine.cookies.count(session.id, in: engine.memoryFiles) }
    if session.type != .background { engine.credentials.count(session.id, in: engine.memoryFiles) }
  }

  /// Throws if the existing session does not match the session that the client wants.
  private func check(_ known: TransferSession, for wanted: TransferSession) throws(ServiceError) {
    guard known.state == .active else { throw .identifierBeingInvalidated }
    let differences = known.differences(to: wanted)
    guard differences.isEmpty else { throw .identifierInUse(differences: differences) }
  }

  /// Returns the sessions of these shards. Ephemeral sessions are left out, because they never move.
  func sessions(of shards: ShardSet) -> [TransferSession] {
    runtime.sessions().filter { shards.contains($0.id.shard) && $0.type != .ephemeral }
  }

  /// Drops the sessions of these shards, because another service owns them now. Later facts about their tasks are ignored.
  func forget(_ shards: ShardSet) {
    for session in sessions(of: shards) {
      let tasks = runtime.read(at: session.id, \.unfinishedIDs) ?? []
      for task in tasks { runtime.directory[task] = nil }
      runtime.stopClocks(of: session.id)
      runtime.remove(session.id)
      // Suspects of other sessions must not wait for a task that is gone.
      runtime.apply(tasks.map { .over($0) })
      names.forget(session)
      runtime.background?.release(session.id)
      engine.storages.forget(session.id)
      engine.caches?.close(session.id)
      engine.releaseSession(session.id)
    }
  }

  // MARK: Invalidating and deleting

  /// finishTasksAndInvalidate, invalidateAndCancel. You may call it again.
  func invalidate(_ id: SessionID, _ mode: InvalidationMode) async throws(ServiceError) -> TransferSession {
    guard !id.isShared else { throw .sharedSession }
    let waiter = Waiter()
    let isHeld = Atomic(true)
    let found: Void?
    do throws(LedgerError) {
      found = try await runtime.updateWithConfiguration(id) { machine, step in
        machine.apply(.invalidate, &step)
        step.onCommit.append { holds in
          isHeld.store(holds, ordering: .relaxed)
          waiter.resume()
        }
      }
    } catch {
      throw .store(error)
    }
    guard found != nil else { throw notFoundError(id) }
    await waiter.wait()
    guard isHeld.load(ordering: .relaxed) else { throw notFoundError(id) }
    if mode == .cancelTasks { await cancelTasks(of: id) }
    return try await withConfiguration(session(id))
  }

  /// Cancels all tasks of an invalidated session, and returns when each task has received the cancellation. Tasks without a
  /// transfer have ended then.
  private func cancelTasks(of id: SessionID) async {
    var tasks = (runtime.update(id) { machine, _ in machine.tasksToCancel() } ?? [])[...]
    while !tasks.isEmpty {
      let slice = Array(tasks.prefix(Self.cancellationSlice))
      tasks = tasks.dropFirst(slice.count)
      let evicted = runtime.read(at: id) { machine in slice.filter { machine.tasks.isEvicted($0) } } ?? []
      let resident = evicted.isEmpty ? slice : slice.filter { !Set(evicted).contains($0) }
      _ = await runtime.updateAndCommit(id) { _ = $0.apply(.cancelTasks(resident), &$1) }
      // Evicted tasks are cancelled one by one, so that few of them are in memory at a time.
      for task in evicted { _ = await runtime.handle(.cancelTasks([task]), to: task) }
    }
  }

  /// Deletes an invalidated session with its rows. If that fails halfway, the session remains and can be deleted again.
  /// - Parameter news: the numbers of unreadable reports about the session, which are deleted in the same commit.
  func delete(_ session: TransferSession, andNews news: [Int64]) async throws(ServiceError) {
    var change = LedgerChange()
    change.partlyDeletedSession = session.id
    change.owner = session.id
    do throws(LedgerError) {
      while try await store.hasTasks(session.id) { try await store.write(change) }
    } catch {
      throw .store(error)
    }
    change.partlyDeletedSession = nil
    change.deletedSession = session.id
    change.consumedReports = news.map { $0...$0 }
    try await recorder.write(change)
    runtime.remove(session.id)
    names.forget(session)
    engine.storages.forget(session.id)
    engine.memoryFiles.removeAll(session.id, on: runtime.pool)
  }

  // MARK: Connections

  /// Closes the session's connections and drops its authentication state. Later requests open new connections.
  func resetConnections(of id: SessionID) async throws(ServiceError) {
    try await tell(.reset, id) { engine.reset(id, done: $0) }
  }

  /// URLSession.flush(): commits the session's data and closes idle connections.
  func flush(_ id: SessionID) async throws(ServiceError) -> TransferSession {
    let session = try await withConfiguration(session(id))
    try await tell(.flush, id) { engine.flush(id, done: $0) }
    return session
  }

  /// Performs a command in this process, or commits it for the worker.
  private func tell(
    _ command: SessionCommand, _ id: SessionID, here: (@escaping @Sendable () -> Void) -> Void
  ) async throws(ServiceError) {
    if let background = runtime.background, background.has(id) {
      var change = LedgerChange()
      change.command(command, of: id)
      change.owner = id
      recorder.record(change)
    } else {
      await withCheckedContinuation { continuation in here { continuation.resume() } }
    }
    try await recorder.flush()
  }
}
