internal import Crypto
internal import Ledger
internal import Synchronization
internal import TransferModel

/// The lookup of the service that owns a request's subject. Only the owner decides about a session, its tasks and its decisions.
final class RequestLocator: Sendable {
  private let store: any Ledger
  private let gate: ShardGate
  private let membership: ClusterMembership
  private let holders: WeakShardHolder
  /// The background sessions outside the shards of their names, which are older than shards. There are no new ones, so they are read once.
  private let misplaced = Mutex<[BackgroundSessionKey: SessionID]?>(nil)

  init(store: any Ledger, gate: ShardGate, membership: ClusterMembership, holders: WeakShardHolder) {
    (self.store, self.gate, self.membership, self.holders) = (store, gate, membership, holders)
  }

  /// Returns the owner of this service's sessions.
  private func holder() throws(ClusterError) -> any ShardHolder {
    guard let holder = holders.holder else {
      throw .unavailable("this service is not a member of the cluster")
    }
    return holder
  }

  /// Returns the owner of a subject. If the owner is this service, the request is admitted to the shard.
  func locate(of subject: RequestSubject, for tenant: Tenant) async throws(ClusterError) -> RequestLocation {
    let holder = try holder()
    guard let session = try await session(of: subject, for: tenant, in: holder) else {
      if gate.isAlone { return .singleNode }
      try await gate.waitForCurrentView()
      // A service that has joined meanwhile may have the subject.
      try await refresh(waits: false)
      return .unknown
    }
    // An ephemeral session in memory is in no other service.
    if holder.type(of: session) == .ephemeral { return .here(nil) }
    let place = try await gate.admit(session.shard)
    guard case .here(let shard?) = place, holder.type(of: session) == nil, !session.isShared, !gate.isAlone,
      store.unreadable.row(.session, session) == nil
    else { return place }
    gate.release(shard)
    return .unknown
  }

  /// Returns whether a subject that was not found may be at a service that has joined meanwhile.
  func mayBeAtPeer(_ error: any Error) async throws(ClusterError) -> Bool {
    guard try holder().isNotFound(error) else { return false }
    try await refresh(waits: false)
    return !gate.isAlone
  }

  /// Returns whether this service has the subject in memory.
  func holds(_ subject: RequestSubject) async throws(ClusterError) -> Bool {
    let holder = try holder()
    do throws(LedgerError) {
      return try await session(of: subject, in: holder).map { holder.type(of: $0) != nil } ?? false
    } catch .unreadable {
      // The service that received the request reports the error.
      return false
    } catch { throw .store(error) }
  }

  /// Returns whether the ledger or this service's memory has the reply to this Idempotency-Key.
  func keepsReply(under key: IdempotencyKey) async throws(ClusterError) -> Bool {
    let oldest = try holder().now.adding(seconds: -IdempotentReply.retention)
    do throws(LedgerError) { return try await store.replyTime(of: key).map { $0 > oldest } ?? false } catch {
      throw .store(error)
    }
  }

  private func session(
    of subject: RequestSubject, for tenant: Tenant, in holder: any ShardHolder
  ) async throws(ClusterError) -> SessionID? {
    if case .session(.shared) = subject { return holder.sharedSession(of: tenant) }
    // Without other services, the use case itself looks up the session.
    if gate.isAlone, !isAtHand(subject, in: holder) { return nil }
    do throws(LedgerError) { return try await session(of: subject, in: holder) } catch .unreadable {
      // The use case reports the error.
      return nil
    } catch {
      throw .store(error)
    }
  }

  /// Returns whether the subject's session is known without the ledger.
  private func isAtHand(_ subject: RequestSubject, in holder: any ShardHolder) -> Bool {
    switch subject {
    case .session: true
    case .task(let id): holder.session(of: id) != nil
    case .decision, .newSession: false
    }
  }

  private func session(
    of subject: RequestSubject, in holder: any ShardHolder
  ) async throws(LedgerError) -> SessionID? {
    switch subject {
    case .session(let id): return id
    case .task(let id):
      if let session = holder.session(of: id) { return session }
      return try await store.task(id)?.sessionID
    case .decision(let id): return try await store.decision(id)?.sessionID
    case .newSession: return nil
    }
  }

  // MARK: New sessions

  /// Returns the shard of a session to be created. It is the same for all requests with the same name or Idempotency-Key.
  func shard(
    forNew name: String?, key: String?, of tenant: Tenant
  ) async throws(ClusterError) -> Shard {
    let holder = try holder()
    if let name {
      return try await shard(of: BackgroundSessionKey(tenant: tenant, identifier: name), in: holder)
    }
    // This applies without other services as well, because one may have joined when the request is repeated.
    if let key { return Self.shard(of: ["key", tenant.name, key]) }
    // A random id determines the shard, or the next shard that is here.
    let usual = holder.newSession().shard
    let ready = gate.ready
    return ready.contains(usual) ? usual : ready.shards.first { $0 > usual } ?? ready.shards.first ?? usual
  }

  private func shard(
    of name: BackgroundSessionKey, in holder: any ShardHolder
  ) async throws(ClusterError) -> Shard {
    let usual = Self.usualShard(of: name)
    if let known = holder.session(named: name) { return known.shard }
    guard !gate.isAlone else { return usual }
    do throws(LedgerError) {
      guard let id = try await misplacedSessions()[name], let session = try await store.session(id),
        session.state != .invalid
      else { return usual }
      return id.shard
    } catch {
      throw .store(error)
    }
  }

  private func misplacedSessions() async throws(LedgerError) -> [BackgroundSessionKey: SessionID] {
    if let known = misplaced.withLock({ $0 }) { return known }
    var found: [BackgroundSessionKey: SessionID] = [:]
    for (session, _) in try await store.sessions() where session.state != .invalid {
      guard let name = session.backgroundKey, session.id.shard != Self.usualShard(of: name) else { continue }
      found[name] = session.id
    }
    let names = found
    // An unreadable session may be readable later, so the result is not cached.
    if store.unreadable.rows(of: .session).isEmpty { misplaced.withLock { $0 = names } }
    return names
  }

  private static func usualShard(of name: BackgroundSessionKey) -> Shard {
    shard(of: ["name", name.tenant.name, name.identifier])
  }

  private static func shard(of words: [String]) -> Shard {
    var digest = SHA256()
    for word in words { digest.update(data: Array(word.utf8) + [0]) }
    return Shard(digest.finalize().first { _ in true } ?? 0)
  }

  /// Reads the ownership; optionally waits for a change first.
  func refresh(waits: Bool) async throws(ClusterError) {
    if waits { await gate.change() }
    do throws(LedgerError) { try await membership.refresh() } catch { throw .store(error) }
  }
}
