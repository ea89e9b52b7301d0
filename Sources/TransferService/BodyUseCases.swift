internal import Synchronization
internal import TransferEngine
package import TransferModel
internal import TransferStore

/// The bytes of a task's body, and how to get them.
package enum BodyContent: Sendable {
  case small([UInt8], TransferTask)
  /// A finished body on the disk; the stream reads one range of it.
  case file(TransferTask, stream: @Sendable (Range<Int64>) -> BodyStream)
  /// Of a data task that is still running.
  case live(TransferResponse?, BodyStream)
}

extension TransferService {
  /// The body of a task. A data task's can be read while it arrives, unless it is delivered whole: waits for the head of the answer.
  func body(of task: TransferTask) async throws(ServiceError) -> BodyContent {
    if task.state == .completed { return try await storedBody(of: task) }
    let entry = registry.withLock { $0.tasks[task.id] }
    if let entry {
      guard entry.task.kind != .download, entry.task.preferences.prefersIncrementalDelivery,
        entry.task.state == .running
      else {
        if entry.isEnding {
          await waitForEnd(of: task.id, seconds: 30)
          return try await storedBody(of: self.task(task.id))
        }
        throw .bodyNotReady
      }
      if let live = try await liveBody(of: entry.task) {
        return .live(live.response, BodyStream(live, pool: pool))
      }
    }
    return try await storedBody(of: self.task(task.id))
  }

  /// The body under way, once its head is here; nil where the task ends first.
  private func liveBody(of task: TransferTask) async throws(ServiceError) -> LiveBody? {
    while true {
      if let live = engine.liveBody(of: task.id, in: task.sessionID), live.response != nil { return live }
      let waiter = Waiter()
      let mayCome = registry.withLock { registry in
        guard let entry = registry.tasks[task.id], !entry.isEnding else { return false }
        registry.tasks[task.id]?.headWaiters.append { waiter.resume() }
        return true
      }
      guard mayCome else {
        await waitForEnd(of: task.id, seconds: 30)
        return nil
      }
      // Between the first look and the note the head may have come, and nobody will call.
      if let live = engine.liveBody(of: task.id, in: task.sessionID), live.response != nil { return live }
      await waiter.wait()
    }
  }

  /// Until it expires, and for whoever is yet to be told of it. An ephemeral session's ends with that, a moment before it is wiped.
  func isKept(_ body: TaskBody, of task: TransferTask) async throws(ServiceError) -> Bool {
    let session = registry.withLock { $0.sessions[task.sessionID]?.session }
    if session?.type == .ephemeral, session?.state == .invalid { return false }
    if body.expiresAt > now { return true }
    do throws(StoreError) { return try await store.hasPendingDelivery(task.id) } catch { throw .store(error) }
  }

  private func storedBody(of task: TransferTask) async throws(ServiceError) -> BodyContent {
    let id = task.id
    guard task.state == .completed else { throw .bodyNotReady }
    guard let body = task.body, try await isKept(body, of: task) else { throw .bodyNotFound }
    do throws(StoreError) {
      if let bytes = try await store.smallBody(of: id) { return .small(bytes, task) }
      if try await store.hasBodyFile(id), let reader = bodies(of: task.sessionID).reader(id) {
        return .file(task) { [pool] in BodyStream(reader, range: $0, pool: pool) }
      }
    } catch {
      throw .store(error)
    }
    throw .bodyNotFound
  }

  /// The bytes of a finished task's small body; nil where it has none, or none any more.
  func smallBody(of task: TransferTask) async throws(ServiceError) -> [UInt8]? {
    do throws(ServiceError) {
      guard case .small(let bytes, _) = try await storedBody(of: task) else { return nil }
      return bytes
    } catch {
      switch error {
      case .bodyNotFound, .bodyNotReady: return nil
      default: throw error
      }
    }
  }

  /// Drops the temporary body now. Dropping it twice is no error.
  func deleteBody(of task: TransferTask) async throws(ServiceError) {
    var task = task
    guard task.state == .completed else { throw .bodyNotReady }
    task.body = nil
    task.partial = nil
    task.partialExpiresAt = nil
    task.error?.resumeDataAvailable = false
    var change = StoreChange()
    change.updatedTasks = [task]
    try await write(change)
    let bodies = bodies(of: task.sessionID)
    bodies.remove(task.id)
    bodies.removePartial(task.id)
  }

  /// Where the bodies of a session's tasks are.
  func bodies(of id: SessionID) -> BodyDirectory {
    let type = registry.withLock { $0.sessions[id]?.session.type }
    return engine.bodies(of: id, type ?? .default)
  }
}
