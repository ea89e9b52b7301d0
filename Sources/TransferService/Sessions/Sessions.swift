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

/// What can be done with sessions.
struct Sessions: Sendable {
  /// Tasks that are cancelled with one commit: others take their turns between them.
  private static let cancellationSlice = 512

  let room: MachineRoom
  let names = SessionNames()
  let identifiers: IdentifierSource
  let limits: TransferService.Limits

  private var recorder: Recorder { room.recorder }
  private var store: any Ledger { room.recorder.store }
  private var engine: any LocalCarrier { room.engine }

  // MARK: Reading

  func session(_ id: SessionID) throws(ServiceError) -> TransferSession {
    guard let session = room.session(id) else { throw missing(id) }
    return session
  }

  /// The session with what is only in its row.
  func whole(_ session: TransferSession) async throws(ServiceError) -> TransferSession {
    guard session.isOutline else { return session }
    let row: TransferSession?
    do throws(StoreError) { row = try await store.session(session.id) } catch { throw .store(error) }
    guard let row else { throw missing(session.id) }
    return session.completed(from: row)
  }

  /// Calls `body` with the cookies and credentials of a session in memory.
  func withStorage<Result>(
    of id: SessionID, _ body: () async throws(ServiceError) -> Result
  ) async throws(ServiceError) -> Result {
    guard await engine.storages.beginUse(of: id) else {
      // It may have gone meanwhile.
      _ = try session(id)
      throw .storeUnavailable("the cookies and credentials of the session cannot be read")
    }
    defer { engine.storages.endUse(of: id) }
    return try await body()
  }

  /// Changes cookies or credentials in memory, and returns when the change is on disk. Throws before any change if facts cannot be
  /// written.
  /// - Parameter body: makes the change in memory. For a background session it also adds the rows and the worker's command to the
  ///   `StoreChange`.
  func changeStorage(
    of id: SessionID,
    _ body: (inout StoreChange, _ isBackground: Bool) throws(ServiceError) -> Void
  ) async throws(ServiceError) {
    try await withStorage(of: id) { () async throws(ServiceError) in
      if let refusal = store.refusal { throw .store(refusal) }
      var change = StoreChange()
      try body(&change, room.background?.has(id) == true)
      change.owner = id
      if !change.isEmpty { recorder.record(change) }
      try await recorder.settle()
    }
  }

  /// Why there is no such session.
  func missing(_ id: SessionID) -> ServiceError {
    store.unreadable.row(.session, id).map { .storedDataUnreadable($0) } ?? .sessionNotFound
  }

  /// A page of a tenant's sessions, oldest first.
  func page(
    of tenant: Tenant, type: SessionType?, state: SessionState?, after: SessionID?, limit: Int
  ) -> [TransferSession] {
    let wanted = room.sessions().filter { session in
      session.tenant == tenant && (type == nil || session.type == type)
        && (state == nil || session.state == state)
        && after.map { session.id > $0 } ?? true
    }
    return Array(wanted.sorted { $0.id < $1.id }.prefix(limit))
  }

  // MARK: Creating

  /// The tenant's own shared session, which is there from the first time that anybody asks for it.
  func shared(of tenant: Tenant) -> SessionID {
    let id = SessionID.shared(of: tenant)
    guard room.session(id) == nil, store.unreadable.row(.session, id) == nil else { return id }
    let session = TransferSession.shared(id, of: tenant)
    // Written before anybody can find it: what comes of it is written behind it. Twice changes nothing.
    var change = StoreChange()
    change.sessions = [session]
    change.owner = session.id
    recorder.record(change)
    open(session)
    return id
  }

  /// Creates a session (URLSession.init(configuration:delegate:delegateQueue:)), or finds the background session that
  /// has the identifier.
  /// - Parameters:
  ///   - shard: that it is to be in; nil: in any.
  ///   - reply: what repeats under an Idempotency-Key get.
  func create(
    _ specification: SessionSpecification, of tenant: Tenant, in shard: Shard? = nil,
    reply: @Sendable (TransferSession, _ isNew: Bool) -> IdempotentReply? = { _, _ in nil }
  ) async throws(ServiceError) -> (session: TransferSession, isNew: Bool) {
    guard !room.waiters.isDraining else { throw .draining }
    let id: SessionID = identifiers.make()
    let session = TransferSession(
      id: shard.map { id.inShard($0) } ?? id, type: specification.type, createdAt: identifiers.now(),
      description: specification.description, configuration: specification.configuration,
      delegate: specification.delegate, identifier: specification.identifier, tenant: tenant)
    guard let name = session.backgroundName else {
      try await keep(session, reply)
      return (session, true)
    }
    if let known = await names.claim(name, { [room] in room.session($0) }) {
      let known = try await wholeForIdentifier(known)
      try check(known, for: session)
      var change = StoreChange()
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
    do throws(ServiceError) { return try await whole(known) } catch .sessionNotFound {
      throw .identifierBeingInvalidated
    }
  }

  /// Reserves memory for an ephemeral session until it ends.
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
    var change = StoreChange()
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
    room.visit(session.id) { _ = $0.take(.recoveredAll, &$1) }
  }

  /// From here on it is there.
  /// - Parameters:
  ///   - lastIdentifier: that an earlier process gave out.
  ///   - pending: messages that an earlier process left in the outbox.
  func open(
    _ session: TransferSession, lastIdentifier: Int = 0, pending: [(id: DeliveryID, isWakeUp: Bool)] = []
  ) {
    if session.type == .background, session.state != .invalid { room.background?.take(session.id) }
    var machine = SessionMachine(
      session, lastIdentifier: lastIdentifier, limit: limits.unfinishedTasks,
      residentBytes: limits.residentTaskBytes, submittedBytes: limits.submittedTaskBytes)
    machine.recover(pending)
    room.insert(machine)
    if session.type == .ephemeral { engine.cookies.count(session.id, in: engine.memoryFiles) }
    if session.type != .background { engine.credentials.count(session.id, in: engine.memoryFiles) }
  }

  /// Throws where a client that asks for `wanted` must not get `known`.
  private func check(_ known: TransferSession, for wanted: TransferSession) throws(ServiceError) {
    guard known.state == .active else { throw .identifierBeingInvalidated }
    let differences = known.differences(to: wanted)
    guard differences.isEmpty else { throw .identifierInUse(differences: differences) }
  }

  /// Those that go where their shard goes. Ephemeral ones stay where they are.
  func sessions(of shards: ShardSet) -> [TransferSession] {
    room.sessions().filter { shards.contains($0.id.shard) && $0.type != .ephemeral }
  }

  /// Sessions of these shards are another process's; all that this one has of them goes, and whatever is told of their tasks from here on
  /// is told to nobody.
  func forget(_ shards: ShardSet) {
    for session in sessions(of: shards) {
      for task in room.look(at: session.id, \.unfinishedIDs) ?? [] {
        room.directory[task] = nil
      }
      room.stopClocks(of: session.id)
      room.remove(session.id)
      names.forget(session)
      room.background?.release(session.id)
      engine.storages.forget(session.id)
      engine.caches?.close(session.id)
      engine.forget(session.id)
    }
  }

  // MARK: Their end

  /// finishTasksAndInvalidate, invalidateAndCancel. Asking again is no error.
  func invalidate(_ id: SessionID, _ mode: InvalidationMode) async throws(ServiceError) -> TransferSession {
    guard !id.isShared else { throw .sharedSession }
    let waiter = Waiter()
    let isHeld = Atomic(true)
    let found: Void?
    do throws(StoreError) {
      found = try await room.visitWhole(id) { machine, step in
        machine.take(.invalidate, &step)
        step.settled.append { holds in
          isHeld.store(holds, ordering: .relaxed)
          waiter.resume()
        }
      }
    } catch {
      throw .store(error)
    }
    guard found != nil else { throw missing(id) }
    await waiter.wait()
    guard isHeld.load(ordering: .relaxed) else { throw missing(id) }
    if mode == .cancelTasks { await cancelTasks(of: id) }
    return try await whole(session(id))
  }

  /// Cancels all tasks of a session that takes no others; returns when each of them was told so. A task that nobody carries out has
  /// ended then.
  private func cancelTasks(of id: SessionID) async {
    var tasks = (room.visit(id) { machine, _ in machine.tasksToCancel() } ?? [])[...]
    while !tasks.isEmpty {
      let slice = Array(tasks.prefix(Self.cancellationSlice))
      tasks = tasks.dropFirst(slice.count)
      let evicted = room.look(at: id) { machine in slice.filter { machine.tasks.isEvicted($0) } } ?? []
      let resident = evicted.isEmpty ? slice : slice.filter { !Set(evicted).contains($0) }
      _ = await room.visitAndWait(id) { _ = $0.take(.cancelTasks(resident), &$1) }
      // One by one, so that few of them are in memory at a time.
      for task in evicted { _ = await room.give(.cancelTasks([task]), to: task) }
    }
  }

  /// Deletes the rows of an invalid session, and forgets it. Where that breaks off, it is still there, and can be deleted again.
  /// - Parameter news: rows that go with it.
  func delete(_ session: TransferSession, andNews news: [Int64]) async throws(ServiceError) {
    var change = StoreChange()
    change.thinnedSession = session.id
    change.owner = session.id
    do throws(StoreError) {
      while try await store.hasTasks(session.id) { try await store.write(change) }
    } catch {
      throw .store(error)
    }
    change.thinnedSession = nil
    change.deletedSession = session.id
    change.takenNews = news.map { $0...$0 }
    try await recorder.write(change)
    room.remove(session.id)
    names.forget(session)
    engine.storages.forget(session.id)
    engine.memoryFiles.wipe(session.id, on: room.pool)
  }

  // MARK: Connections

  /// Forgets whom a session has let in and was let in by; requests from here on open new connections.
  func resetConnections(of id: SessionID) async throws(ServiceError) {
    try await tell(.reset, id) { engine.reset(id, done: $0) }
  }

  /// URLSession.flush(): what the session remembers is on the disk, and idle connections are closed.
  func flush(_ id: SessionID) async throws(ServiceError) -> TransferSession {
    let session = try await whole(session(id))
    try await tell(.flush, id) { engine.flush(id, done: $0) }
    return session
  }

  /// Returns when that is done here, or what another process is to do is on the disk.
  private func tell(
    _ command: SessionCommand, _ id: SessionID, here: (@escaping @Sendable () -> Void) -> Void
  ) async throws(ServiceError) {
    if let background = room.background, background.has(id) {
      var change = StoreChange()
      change.command(command, of: id)
      change.owner = id
      recorder.record(change)
    } else {
      await withCheckedContinuation { continuation in here { continuation.resume() } }
    }
    try await recorder.settle()
  }
}
