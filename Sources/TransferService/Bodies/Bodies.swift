internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import Synchronization
internal import TransferCore
package import TransferModel

/// A task's body as small bytes or as a stream.
package enum BodyContent: Sendable {
  case small([UInt8], TransferTask)
  /// A finished body on disk. The stream reads one range of it.
  case file(TransferTask, stream: @Sendable (Range<Int64>) -> BodyStream)
  /// The body of a running data task.
  case live(TransferResponse?, BodyStream)
}

/// Use cases of task bodies.
struct Bodies: Sendable {
  let runtime: SessionRuntime
  let tasks: Tasks
  /// The largest body, in bytes, that is stored in its task's row.
  let smallBodyLimit: Int

  private var store: any Ledger { runtime.recorder.store }
  private var now: Timestamp { tasks.identifiers.now() }

  /// Returns a task's body. The body of a data task can be read while it arrives, after the head of its response, unless it is
  /// delivered whole.
  func body(of task: TransferTask) async throws(ServiceError) -> BodyContent {
    if task.state == .completed { return try await storedBody(of: task) }
    let known = runtime.task(task.id)
    if known != nil || runtime.read(at: task.sessionID, { $0.tasks.isEvicted(task.id) }) == true {
      let current = known?.task ?? task
      guard current.kind != .download, current.preferences.prefersIncrementalDelivery,
        current.state == .running
      else {
        guard known?.isEnding == true else { throw .bodyNotReady(current.state) }
        await tasks.waitForEnd(of: task.id, seconds: Tasks.waitLimit)
        return try await storedBody(of: tasks.task(task.id))
      }
      if let live = await liveBody(of: current) {
        return .live(live.response, BodyStream(live, pool: runtime.pool))
      }
    }
    return try await storedBody(of: tasks.task(task.id))
  }

  /// Waits for the response's head and returns the arriving body. Returns `nil` if the task ends first.
  private func liveBody(of task: TransferTask) async -> LiveBody? {
    while true {
      if let live = shownBody(of: task) { return live }
      let waiter = Waiter()
      // Under the session's lock: a task that is present has not yet called the actions for its response's head.
      let mayCome = runtime.read(at: task.sessionID) { machine in
        guard machine.tasks.contains(task.id), machine.task(task.id)?.isEnding != true else { return false }
        runtime.waiters.waitForHead(of: task.id) { waiter.resume() }
        return true
      }
      guard mayCome == true else {
        await tasks.waitForEnd(of: task.id, seconds: Tasks.waitLimit)
        return nil
      }
      // The head may have arrived between the first check and `waitForHead`; then no call would follow.
      if let live = shownBody(of: task) { return live }
      await waiter.wait()
    }
  }

  private func shownBody(of task: TransferTask) -> LiveBody? {
    guard let live = runtime.engine.liveBody(of: task.id, in: task.sessionID), live.response != nil,
      // Another attempt may follow.
      runtime.read(at: task.sessionID, { $0.hidesResponse(of: task.id) }) != true
    else { return nil }
    return live
  }

  /// Whether a body still exists: until it expires, and while a delivery of its task is pending. The bodies of an ephemeral
  /// session end with the session.
  func isKept(_ body: TaskBody, of task: TransferTask) async throws(ServiceError) -> Bool {
    let session = runtime.session(task.sessionID)
    if session?.type == .ephemeral, session?.state == .invalid { return false }
    guard let end = body.expiresAt, end <= now else { return true }
    do throws(LedgerError) { return try await store.hasPendingDelivery(task.id) } catch {
      throw .store(error)
    }
  }

  private func storedBody(of task: TransferTask) async throws(ServiceError) -> BodyContent {
    let id = task.id
    guard task.state == .completed else { throw .bodyNotReady(task.state) }
    guard let body = task.body, try await isKept(body, of: task) else {
      throw .bodyNotFound(absence(of: task))
    }
    if body.placed != nil {
      guard let reader = try await reader(of: task) else { throw .bodyNotFound(absence(of: task)) }
      return .file(task) { [runtime] in BodyStream(reader, range: $0, pool: runtime.pool) }
    }
    let hasFile: Bool
    do throws(LedgerError) {
      if let bytes = try await store.smallBody(of: id) { return .small(bytes, task) }
      hasFile = try await store.hasBodyFile(id)
    } catch {
      throw .store(error)
    }
    guard hasFile, let reader = try await reader(of: task) else { throw .bodyNotFound(absence(of: task)) }
    return .file(task) { [runtime] in BodyStream(reader, range: $0, pool: runtime.pool) }
  }

  /// Returns why a finished task has no body.
  func absence(of task: TransferTask) -> BodyAbsence {
    let session = runtime.session(task.sessionID)
    return BodyAbsence(
      of: task, retention: session?.configuration.bodyRetention ?? SessionConfiguration().bodyRetention,
      hasSessionEnded: session?.type == .ephemeral && session?.state == .invalid, now: now)
  }

  /// - Returns: a reader of a finished task's body, or `nil` if the body does not exist.
  func reader(of task: TransferTask) async throws(ServiceError) -> (any BlobReader)? {
    if let placed = task.body?.placed {
      let (store, tenant) = (runtime.placer.store, runtime.session(task.sessionID)?.tenant)
      return await runtime.pool.run { tenant.flatMap { store?.open(placed, of: $0) } }
    }
    let blobs = blobs(of: task.sessionID)
    do throws(BlobError) { return try await blobAnswerIfAny { blobs.open(task.bodyKey, $0) } } catch {
      throw .blob(error)
    }
  }

  /// - Returns: the bytes of a finished task's small body, or `nil` if the task has none, or the body was deleted.
  func small(of task: TransferTask) async throws(ServiceError) -> [UInt8]? {
    guard let size = task.body?.size else { return nil }
    if size > Int64(smallBodyLimit) {
      if task.body?.placed != nil { return nil }
      if try await hasBodyFile(task) { return nil }
    }
    do throws(ServiceError) {
      switch try await storedBody(of: task) {
      case .small(let bytes, _): return bytes
      case .file(let task, _):
        // A body that was put together from parts is a file, also if it is small.
        guard let reader = try await reader(of: task) else { return nil }
        do throws(BlobError) {
          return try await reader.bytes(at: 0, count: Int(size), on: runtime.pool)
        } catch {
          throw .blob(error)
        }
      case .live: return nil
      }
    } catch {
      switch error {
      case .bodyNotFound, .bodyNotReady: return nil
      default: throw error
      }
    }
  }

  private func hasBodyFile(_ task: TransferTask) async throws(ServiceError) -> Bool {
    do throws(LedgerError) { return try await store.hasBodyFile(task.id) } catch { throw .store(error) }
  }

  /// Deletes the temporary body. You may call it again.
  func delete(of task: TransferTask) async throws(ServiceError) {
    guard task.state == .completed else { throw .bodyNotReady(task.state) }
    let keys = task.keys
    var task = task
    task.body = nil
    task.partial = nil
    task.partialExpiresAt = nil
    task.error?.resumeDataAvailable = false
    var change = LedgerChange()
    change.updatedTasks = [task]
    change.owner = task.sessionID
    try await runtime.recorder.write(change)
    let blobs = blobs(of: task.sessionID)
    await blobs.delete(keys, on: runtime.pool)
  }

  /// Returns the store of the bodies of a session's tasks.
  func blobs(of id: SessionID) -> any BlobStore {
    runtime.engine.bodies(of: id, runtime.session(id)?.type ?? .default)
  }

  /// Returns the keys of all files of a session's tasks. Lists all files.
  func keys(of session: SessionID) async throws(ServiceError) -> [BlobKey] {
    let blobs = blobs(of: session)
    let found: [BlobKey]
    do throws(BlobError) {
      found = try await blobs.keys(.tasks, on: runtime.pool) { $0.part == .partial || $0.part == .request }
    } catch { throw .blob(error) }
    do throws(LedgerError) { return try await keys(of: session, withFiles: found.compactMap(\.task)) } catch {
      throw .store(error)
    }
  }

  private func keys(of session: SessionID, withFiles found: [TaskID]) async throws(LedgerError) -> [BlobKey] {
    let bodies = try await store.bodyFiles(of: session)
    var rest = Set(bodies + found).sorted()[...]
    var keys: [BlobKey] = []
    while !rest.isEmpty {
      let tasks = try await store.tasks(Array(rest.prefix(500)))
      keys += tasks.filter { $0.sessionID == session }.flatMap(\.allKeys)
      rest = rest.dropFirst(500)
    }
    return keys
  }
}

extension TransferTask {
  /// The keys of the body and the partial body.
  var keys: [BlobKey] { [bodyKey] + (partialKey.map { [$0] } ?? []) }

  /// The keys of all blobs that are deleted with the task's row.
  var allKeys: [BlobKey] { keys + requestBodyKeys }
}
