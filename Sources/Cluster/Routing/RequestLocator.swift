internal import Crypto
internal import Ledger
internal import Synchronization
internal import TransferModel

/// Finds the service that owns the subject of a request. It alone decides about a session, its tasks and its decisions.
final class RequestLocator: Sendable {
  private let store: any Ledger
  private let owners: Owners
  private let membership: Membership
  private let holders: HolderReference
  /// Background sessions that are not in the shards that their names say: those of before there were shards. No more are added, so they are
  /// read once.
  private let misplaced = Mutex<[BackgroundName: SessionID]?>(nil)

  init(store: any Ledger, owners: Owners, membership: Membership, holders: HolderReference) {
    (self.store, self.owners, self.membership, self.holders) = (store, owners, membership, holders)
  }

  /// The service that holds the sessions here.
  private func holder() throws(ClusterError) -> any ShardHolder {
    guard let holder = holders.holder else { throw .unavailable("this service does not take part") }
    return holder
  }

  /// Lets somebody in where the subject is.
  func place(of subject: Subject, for tenant: Tenant) async throws(ClusterError) -> Place {
    let holder = try holder()
    guard let session = try await session(of: subject, for: tenant, in: holder) else {
      if owners.isAlone { return .alone }
      try await owners.knowOthers()
      // One that takes part since then may have it.
      try await refresh(waits: false)
      return .unknown
    }
    // One that is in memory is nowhere else.
    if holder.type(of: session) == .ephemeral { return .here(nil) }
    let place = try await owners.enter(session.shard)
    guard case .here(let shard?) = place, holder.type(of: session) == nil, !session.isShared, !owners.isAlone,
      store.unreadable.row(.session, session) == nil
    else { return place }
    owners.leave(shard)
    return .unknown
  }

  /// Whether what was not found here, as this process was alone, may be at one that takes part since then.
  func mayBeElsewhere(_ error: any Error) async throws(ClusterError) -> Bool {
    guard try holder().isNotFound(error) else { return false }
    try await refresh(waits: false)
    return !owners.isAlone
  }

  /// Whether this service has the subject in its memory.
  func holds(_ subject: Subject) async throws(ClusterError) -> Bool {
    let holder = try holder()
    do throws(StoreError) {
      return try await session(of: subject, in: holder).map { holder.type(of: $0) != nil } ?? false
    } catch .unreadable {
      // The service that got the request reports that.
      return false
    } catch { throw .store(error) }
  }

  /// Whether the ledger or this service's memory has the stored reply to this Idempotency-Key.
  func keepsReply(under key: IdempotencyKey) async throws(ClusterError) -> Bool {
    let oldest = try holder().now.adding(seconds: -IdempotentReply.retention)
    do throws(StoreError) { return try await store.replyTime(of: key).map { $0 > oldest } ?? false } catch {
      throw .store(error)
    }
  }

  private func session(
    of subject: Subject, for tenant: Tenant, in holder: any ShardHolder
  ) async throws(ClusterError) -> SessionID? {
    if case .session(.shared) = subject { return holder.sharedSession(of: tenant) }
    // Where nobody else is, who carries the request out looks for itself.
    if owners.isAlone, !isAtHand(subject, in: holder) { return nil }
    do throws(StoreError) { return try await session(of: subject, in: holder) } catch .unreadable {
      // Whoever asks for it is told so.
      return nil
    } catch {
      throw .store(error)
    }
  }

  /// Whether its session is known without the store.
  private func isAtHand(_ subject: Subject, in holder: any ShardHolder) -> Bool {
    switch subject {
    case .session: true
    case .task(let id): holder.session(of: id) != nil
    case .decision, .newSession: false
    }
  }

  private func session(
    of subject: Subject, in holder: any ShardHolder
  ) async throws(StoreError) -> SessionID? {
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

  /// The shard that a session to be created belongs in: the same for all who want one of that name, or under that key.
  func shard(
    forNew name: String?, key: String?, of tenant: Tenant
  ) async throws(ClusterError) -> Shard {
    let holder = try holder()
    if let name { return try await shard(of: BackgroundName(tenant: tenant, identifier: name), in: holder) }
    // Where this process is alone as well: another may take part by the time that the request is repeated.
    if let key { return Self.shard(of: ["key", tenant.name, key]) }
    // Any of those that are here, as a new id has it.
    let usual = holder.newSession().shard
    let ready = owners.ready
    return ready.contains(usual) ? usual : ready.shards.first { $0 > usual } ?? ready.shards.first ?? usual
  }

  private func shard(
    of name: BackgroundName, in holder: any ShardHolder
  ) async throws(ClusterError) -> Shard {
    let usual = Self.usualShard(of: name)
    if let known = holder.session(named: name) { return known.shard }
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
  func refresh(waits: Bool) async throws(ClusterError) {
    if waits { await owners.change() }
    do throws(StoreError) { try await membership.refresh() } catch { throw .store(error) }
  }
}
