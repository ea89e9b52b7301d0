internal import EventLoop
internal import HTTPCookies
internal import Synchronization
internal import TransferEngine
package import TransferModel
internal import TransferStore

package enum InvalidationMode: String, Sendable, CaseIterable {
  case finishTasks, cancelTasks
}

extension TransferService {
  func session(_ id: SessionID) throws(ServiceError) -> TransferSession {
    guard let entry = registry.withLock({ $0.sessions[id] }) else { throw missing(id) }
    return entry.session
  }

  /// Why there is no such session.
  func missing(_ id: SessionID) -> ServiceError {
    store.unreadable.row("session", id).map { .storedDataUnreadable($0) } ?? .sessionNotFound
  }

  /// A page of a tenant's sessions, oldest first.
  func sessions(
    of tenant: Tenant, type: SessionType?, state: SessionState?, after: SessionID?, limit: Int
  ) -> [TransferSession] {
    let all = registry.withLock { registry in registry.sessions.values.map(\.session) }
    let wanted = all.filter { session in
      session.tenant == tenant && (type == nil || session.type == type)
        && (state == nil || session.state == state)
        && after.map { session.id > $0 } ?? true
    }
    return Array(wanted.sorted { $0.id < $1.id }.prefix(limit))
  }

  /// finishTasksAndInvalidate, invalidateAndCancel. Asking again is no error.
  func invalidate(_ id: SessionID, _ mode: InvalidationMode) async throws(ServiceError)
    -> TransferSession
  {
    guard !id.isShared else { throw .sharedSession }
    guard registry.withLock({ $0.sessions[id] }) != nil else { throw missing(id) }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      registry.withLock { registry in
        guard var session = registry.sessions[id]?.session, session.state == .active else {
          return continuation.resume()
        }
        session.state = registry.sessions[id]?.unfinished == 0 ? .invalid : .invalidating
        if session.state == .invalid { session.owesFinishedEvents = false }
        registry.sessions[id]?.session = session
        if session.state == .invalid {
          retire(session) { continuation.resume() }
        } else {
          var change = StoreChange()
          change.sessions = [session]
          record(change) { continuation.resume() }
        }
      }
    }
    if mode == .cancelTasks { await cancelTasks(of: id) }
    return try session(id)
  }

  /// A session became invalid: in one commit its state and last event are written, and what was for its life only is dropped. That is
  /// its connections, and its credentials that are not permanent; an ephemeral session drops all that it has.
  func retire(_ session: TransferSession, committed: @escaping @Sendable () -> Void = {}) {
    let isEphemeral = session.type == .ephemeral
    let gone = engine.credentials.remove(in: session.id) {
      isEphemeral || $0.credential.persistence != .permanent
    }
    var change = StoreChange()
    change.sessions = [session]
    let event = TransferEvent(.sessionDidBecomeInvalid, at: now, session: session.id, .invalidated)
    note([event], of: nil, in: session, into: &change)
    if session.type == .background { change.deletedCredentials = gone.map { (session.id, $0) } }
    if isEphemeral { change.wipedSession = session.id }
    carrier(of: session.id).forget(session.id, into: &change)
    record(change, committed: committed)
    engine.caches?.forget(session.id)
    guard isEphemeral else { return }
    engine.memoryFiles.wipe(session.id, on: pool)
    engine.cookies.forget(session.id)
  }

  /// Whether an origin can be reached now.
  /// - Parameter timeout: seconds, for all steps together.
  package func reach(_ url: String, timeout: Double) async throws -> Reachability {
    try await engine.reach(url, timeout: .seconds(timeout))
  }

  /// URLSession.reset(): no cookie, no cached response and no credential is left, and requests from here on open
  /// connections of their own.
  func reset(_ id: SessionID) async throws(ServiceError) -> TransferSession {
    let session = try session(id)
    try await removeCookies(of: id, CookieFilter())
    try await removeCredentials(of: id) { _ in true }
    try await emptyCache(of: id)
    await tell { carrier(of: id).reset(id, into: &$0, done: $1) }
    return session
  }

  /// URLSession.flush(): what the session remembers is on the disk, and idle connections are closed.
  func flush(_ id: SessionID) async throws(ServiceError) -> TransferSession {
    let session = try session(id)
    await tell { carrier(of: id).flush(id, into: &$0, done: $1) }
    return session
  }

  /// Returns when that is done here, and what another process is to do is on the disk.
  private func tell(_ body: (inout StoreChange, @escaping @Sendable () -> Void) -> Void) async {
    await withCheckedContinuation { continuation in
      var change = StoreChange()
      body(&change) { continuation.resume() }
      recordAny(change)
    }
    await settleFacts()
  }

  /// Forgets an invalid session, its tasks, their bodies and events.
  func deleteSession(_ id: SessionID) async throws(ServiceError) {
    guard !id.isShared else { throw .sharedSession }
    let session = try session(id)
    guard session.state == .invalid else { throw .sessionNotInvalid }
    let (files, partials): ([TaskID], [TaskID])
    do throws(StoreError) {
      (files, partials) = (try await store.bodyFiles(of: id), try await self.partials(of: id))
    } catch {
      throw .store(error)
    }
    let kept = try await refusedNews(of: id)
    try await deleteRows(of: id, andNews: kept)
    refused.withLock { $0.news.forget(kept) }
    registry.withLock { registry in
      registry.sessions[id] = nil
      registry.background.forget(session)
    }
    handovers.withLock { $0[id] = nil }
    engine.credentials.forget(id)
    engine.cookies.forget(id)
    let bodies = engine.bodies(of: id, session.type)
    pool.submit { [shared = self.bodies] in
      for task in files { bodies.remove(task) }
      for task in partials { shared.removePartial(task) }
    }
    engine.memoryFiles.wipe(id, on: pool)
  }

  /// The rows of news that nobody can read and that nobody will ask for, as their session goes.
  private func refusedNews(of session: SessionID) async throws(ServiceError) -> [Int64] {
    var rows: [Int64] = []
    for (row, subject) in refused.withLock({ $0.news.subjects }) {
      do throws(StoreError) {
        let owner = try await store.task(subject.task)?.sessionID
        if owner == session || subject == DocumentSubject(session) { rows.append(row) }
      } catch {
        throw .store(error)
      }
    }
    return rows
  }

  func write(_ change: StoreChange) async throws(ServiceError) {
    noteQueued(change.newDeliveries)
    do throws(StoreError) {
      try await store.write(change)
    } catch {
      noteSettled(change.newDeliveries)
      throw .store(error)
    }
    if !change.newDeliveries.isEmpty { ringForOutbox() }
    if !change.commands.isEmpty { background?.ring() }
  }
}
