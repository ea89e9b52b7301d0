internal import Crypto
internal import Ledger
internal import Synchronization
internal import TransferCore
package import TransferModel

/// What a request is about.
package enum Subject: Sendable {
  case session(SessionID)
  case task(TaskID)
  case decision(DecisionID)
}

/// Where a request is to be carried out.
package enum Place: Sendable {
  /// Here. Whoever gets a shard owes its `leave`.
  case here(Shard?)
  /// Here, as far as is known: no other process takes part. Where it is not found, `mayBeElsewhere` says whether that is still so.
  case alone
  /// At another process, by its address.
  case elsewhere(String)
  /// Nobody has written it down: it is ephemeral, and another process's, or it is not there.
  case unknown
}

/// Finds out where things are: a session's process decides about it, its tasks and its decisions.
package final class Whereabouts: Sendable {
  package let owners: Owners
  let sessions: Sessions
  /// Background sessions that are not in the shards that their names say: those of before there were shards. No more are added, so they are
  /// read once.
  private let misplaced = Mutex<[BackgroundName: SessionID]?>(nil)
  private let refreshment: @Sendable () async throws(StoreError) -> Void

  init(
    owners: Owners, sessions: Sessions, refreshment: @escaping @Sendable () async throws(StoreError) -> Void
  ) {
    (self.owners, self.sessions, self.refreshment) = (owners, sessions, refreshment)
  }

  private var room: MachineRoom { sessions.room }
  private var store: any Ledger { sessions.room.recorder.store }

  /// Lets somebody in where the subject is.
  package func place(of subject: Subject, for tenant: Tenant) async throws(ServiceError) -> Place {
    guard let session = try await session(of: subject, for: tenant) else {
      if owners.isAlone { return .alone }
      try await owners.knowOthers()
      // One that takes part since then may have it.
      try await refresh(waits: false)
      return .unknown
    }
    // One that is in memory is nowhere else.
    if room.session(session)?.type == .ephemeral { return .here(nil) }
    let place = try await owners.enter(session.shard)
    guard case .here(let shard?) = place, room.session(session) == nil, !session.isShared, !owners.isAlone,
      store.unreadable.row(.session, session) == nil
    else { return place }
    owners.leave(shard)
    return .unknown
  }

  /// Whether what was not found here, as this process was alone, may be at one that takes part since then.
  package func mayBeElsewhere(_ error: any Error) async throws(ServiceError) -> Bool {
    switch error as? ServiceError {
    case .sessionNotFound, .taskNotFound, .decisionNotFound: break
    default: return false
    }
    try await refresh(waits: false)
    return !owners.isAlone
  }

  /// Whether this process has it in its memory.
  package func holds(_ subject: Subject) async -> Bool {
    guard let session = try? await session(of: subject) else { return false }
    return room.session(session) != nil
  }

  /// Whether there is a reply for those who repeat a request, on the disk or in this process's memory.
  package func keepsReply(under key: IdempotencyKey) async -> Bool {
    let oldest = sessions.identifiers.now().adding(seconds: -IdempotentReply.retention)
    return (try? await store.replyTime(of: key)).map { $0 > oldest } ?? false
  }

  private func session(of subject: Subject, for tenant: Tenant) async throws(ServiceError) -> SessionID? {
    if case .session(.shared) = subject { return SessionID.shared(of: tenant) }
    // Where nobody else is, who carries the request out looks for itself.
    if owners.isAlone, !isAtHand(subject) { return nil }
    do throws(StoreError) { return try await session(of: subject) } catch .unreadable {
      // Whoever asks for it is told so.
      return nil
    } catch {
      throw .store(error)
    }
  }

  /// Whether its session is known without the store.
  private func isAtHand(_ subject: Subject) -> Bool {
    switch subject {
    case .session: true
    case .task(let id): room.directory[id] != nil
    case .decision: false
    }
  }

  private func session(of subject: Subject) async throws(StoreError) -> SessionID? {
    switch subject {
    case .session(let id): return id
    case .task(let id):
      if let session = room.directory[id] { return session }
      return try await store.task(id)?.sessionID
    case .decision(let id): return try await store.decision(id)?.sessionID
    }
  }

  // MARK: New sessions

  /// The shard that a session to be created belongs in: the same for all who want one of that name, or under that key.
  package func shard(
    forNew name: String?, key: String?, of tenant: Tenant
  ) async throws(ServiceError) -> Shard {
    if let name { return try await shard(of: BackgroundName(tenant: tenant, identifier: name)) }
    // Where this process is alone as well: another may take part by the time that the request is repeated.
    if let key { return Self.shard(of: ["key", tenant.name, key]) }
    // Any of those that are here, as a new id has it.
    let usual = sessions.identifiers.make(SessionID.self).shard
    let ready = owners.ready
    return ready.contains(usual) ? usual : ready.shards.first { $0 > usual } ?? ready.shards.first ?? usual
  }

  private func shard(of name: BackgroundName) async throws(ServiceError) -> Shard {
    let usual = Self.usualShard(of: name)
    if let known = sessions.names.session(of: name) { return known.shard }
    guard !owners.isAlone else { return usual }
    do throws(StoreError) {
      guard let id = try await misplacedSessions()[name], let session = try await store.session(id),
        session.state != .invalid
      else { return usual }
      return id.shard
    } catch {
      throw .store(error)
    }
  }

  private func misplacedSessions() async throws(StoreError) -> [BackgroundName: SessionID] {
    if let known = misplaced.withLock({ $0 }) { return known }
    var found: [BackgroundName: SessionID] = [:]
    for (session, _) in try await store.sessions() where session.state != .invalid {
      guard let name = session.backgroundName, session.id.shard != Self.usualShard(of: name) else { continue }
      found[name] = session.id
    }
    let names = found
    // One that is unreadable now may be readable later.
    if store.unreadable.rows(of: .session).isEmpty { misplaced.withLock { $0 = names } }
    return names
  }

  private static func usualShard(of name: BackgroundName) -> Shard {
    shard(of: ["name", name.tenant.name, name.identifier])
  }

  private static func shard(of words: [String]) -> Shard {
    var digest = SHA256()
    for word in words { digest.update(data: Array(word.utf8) + [0]) }
    return Shard(digest.finalize().first { _ in true } ?? 0)
  }

  /// Who owns what may have changed: looks, or waits until it has.
  package func refresh(waits: Bool) async throws(ServiceError) {
    if waits { await owners.change() }
    do throws(StoreError) { try await refreshment() } catch { throw .store(error) }
  }
}
