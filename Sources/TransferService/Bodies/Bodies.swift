internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import Synchronization
internal import TransferCore
package import TransferModel

/// The bytes of a task's body, and how to get them.
package enum BodyContent: Sendable {
  case small([UInt8], TransferTask)
  /// A finished body on the disk; the stream reads one range of it.
  case file(TransferTask, stream: @Sendable (Range<Int64>) -> BodyStream)
  /// Of a data task that is still running.
  case live(TransferResponse?, BodyStream)
}

/// What can be done with the bodies of tasks.
struct Bodies: Sendable {
  let room: MachineRoom
  let tasks: Tasks
  /// Bytes of a body that may come inline.
  let smallBodyLimit: Int

  private var store: any Ledger { room.recorder.store }
  private var now: Timestamp { tasks.identifiers.now() }

  /// The body of a task. A data task's can be read while it arrives, unless it is delivered whole: waits for the head of the answer.
  func body(of task: TransferTask) async throws(ServiceError) -> BodyContent {
    if task.state == .completed { return try await storedBody(of: task) }
    let known = room.task(task.id)
    if known != nil || room.look(at: task.sessionID, { $0.tasks.isEvicted(task.id) }) == true {
      let current = known?.task ?? task
      guard current.kind != .download, current.preferences.prefersIncrementalDelivery,
        current.state == .running
      else {
        guard known?.isEnding == true else { throw .bodyNotReady(current.state) }
        await tasks.waitForEnd(of: task.id, seconds: Tasks.patience)
        return try await storedBody(of: tasks.task(task.id))
      }
      if let live = await liveBody(of: current) {
        return .live(live.response, BodyStream(live, pool: room.pool))
      }
    }
    return try await storedBody(of: tasks.task(task.id))
  }

  /// The body under way, once its head is here; nil where the task ends first.
  private func liveBody(of task: TransferTask) async -> LiveBody? {
    while true {
      if let live = shownBody(of: task) { return live }
      let waiter = Waiter()
      // Under the session's lock: a task that is there then has not told those who wait for its head.
      let mayCome = room.look(at: task.sessionID) { machine in
        guard machine.tasks.contains(task.id), machine.task(task.id)?.isEnding != true else { return false }
        room.waiters.waitForHead(of: task.id) { waiter.resume() }
        return true
      }
      guard mayCome == true else {
        await tasks.waitForEnd(of: task.id, seconds: Tasks.patience)
        return nil
      }
      // Between the first look and the note the head may have come, and nobody will call.
      if let live = shownBody(of: task) { return live }
      await waiter.wait()
    }
  }

  private func shownBody(of task: TransferTask) -> LiveBody? {
    guard let live = room.engine.liveBody(of: task.id, in: task.sessionID), live.response != nil else {
      return nil
    }
    return live
  }

  /// Until it expires, and for whoever is yet to be told of it. An ephemeral session's ends with that, a moment before it is wiped.
  func isKept(_ body: TaskBody, of task: TransferTask) async throws(ServiceError) -> Bool {
    let session = room.session(task.sessionID)
    if session?.type == .ephemeral, session?.state == .invalid { return false }
    if body.expiresAt > now { return true }
    do throws(StoreError) { return try await store.hasPendingDelivery(task.id) } catch { throw .store(error) }
  }

  private func storedBody(of task: TransferTask) async throws(ServiceError) -> BodyContent {
    let id = task.id
    guard task.state == .completed else { throw .bodyNotReady(task.state) }
    guard let body = task.body, try await isKept(body, of: task) else {
      throw .bodyNotFound(absence(of: task))
    }
    let hasFile: Bool
    do throws(StoreError) {
      if let bytes = try await store.smallBody(of: id) { return .small(bytes, task) }
      hasFile = try await store.hasBodyFile(id)
    } catch {
      throw .store(error)
    }
    guard hasFile, let reader = try await reader(of: task) else { throw .bodyNotFound(absence(of: task)) }
    return .file(task) { [room] in BodyStream(reader, range: $0, pool: room.pool) }
  }

  /// Why a finished task has no body.
  func absence(of task: TransferTask) -> BodyAbsence {
    let session = room.session(task.sessionID)
    return BodyAbsence(
      of: task, retention: session?.configuration.bodyRetention ?? SessionConfiguration().bodyRetention,
      hasSessionEnded: session?.type == .ephemeral && session?.state == .invalid, now: now)
  }

  /// A reader of a finished task's body; nil if the body does not exist.
  func reader(of task: TransferTask) async throws(ServiceError) -> (any BlobReader)? {
    let blobs = blobs(of: task.sessionID)
    do throws(BlobError) { return try await blobAnswerIfAny { blobs.open(task.bodyKey, $0) } } catch {
      throw .blob(error)
    }
  }

  /// The bytes of a finished task's small body; nil if it has none, or it was deleted.
  func small(of task: TransferTask) async throws(ServiceError) -> [UInt8]? {
    guard let size = task.body?.size else { return nil }
    if size > Int64(smallBodyLimit), try await hasBodyFile(task) { return nil }
    do throws(ServiceError) {
      switch try await storedBody(of: task) {
      case .small(let bytes, _): return bytes
      case .file(let task, _):
        // A body that was put together from parts is a file, also if it is small.
        guard let reader = try await reader(of: task) else { return nil }
        do throws(BlobError) { return try await reader.bytes(at: 0, count: Int(size), on: room.pool) } catch {
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
    do throws(StoreError) { return try await store.hasBodyFile(task.id) } catch { throw .store(error) }
  }

  /// Drops the temporary body now. Dropping it twice is no error.
  func delete(of task: TransferTask) async throws(ServiceError) {
    guard task.state == .completed else { throw .bodyNotReady(task.state) }
    let keys = task.keys
    var task = task
    task.body = nil
    task.partial = nil
    task.partialExpiresAt = nil
    task.error?.resumeDataAvailable = false
    var change = StoreChange()
    change.updatedTasks = [task]
    change.owner = task.sessionID
    try await room.recorder.write(change)
    let blobs = blobs(of: task.sessionID)
    await blobs.delete(keys, on: room.pool)
  }

  /// Where the bodies of a session's tasks are.
  func blobs(of id: SessionID) -> any BlobStore {
    room.engine.bodies(of: id, room.session(id)?.type ?? .default)
  }

  /// The keys of all files that a session's tasks left. Lists all files.
  func keys(of session: SessionID) async throws(ServiceError) -> [BlobKey] {
    let blobs = blobs(of: session)
    let found: [BlobKey]
    do throws(BlobError) {
      found = try await blobs.keys(.tasks, on: room.pool) { $0.part == .partial || $0.part == .request }
    } catch { throw .blob(error) }
    do throws(StoreError) { return try await keys(of: session, withFiles: found.compactMap(\.task)) } catch {
      throw .store(error)
    }
  }

  private func keys(of session: SessionID, withFiles found: [TaskID]) async throws(StoreError) -> [BlobKey] {
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
  /// Where what it left may be.
  var keys: [BlobKey] { [bodyKey] + (partialKey.map { [$0] } ?? []) }

  /// All that goes with its row.
  var allKeys: [BlobKey] { keys + requestBodyKeys }
}
