package import HTTPServer
package import HTTPTypes
package import JSON
package import Ledger
internal import Synchronization
package import TransferModel

/// The services that share a ledger, from the point of view of one of them. A service joins the others, takes over from dead ones, and
/// shares the shards evenly. It forwards each request to the owner of its session.
///
/// Requests enter through `route`, and all that the service writes carries its `epoch`. The rest of the service asks `owns`, `isAlone` and
/// the like. The sessions themselves are in the `ShardHolder`.
package final class Cluster: Sendable {
  /// How long a request looks for its owner.
  private static let patience = Duration.seconds(30)

  private let store: any Ledger
  private let coordination: any ClusterCoordinator
  private let peers: (any PeerConnections)?
  private let holders = WeakShardHolder()
  private let gate: ShardGate
  private let membership: ClusterMembership
  private let forwarder: Forwarder
  private let locator: RequestLocator

  /// - Parameters:
  ///   - coordination: the liveness of the processes that share the ledger. By default there is only this process.
  ///   - peers: sends requests to the other services; `nil` if there are none.
  ///   - uptime: a monotonic clock.
  package init(
    store: any Ledger, coordination: any ClusterCoordinator = SingleNodeCoordinator(),
    peers: (any PeerConnections)? = nil,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    (self.store, self.coordination, self.peers) = (store, coordination, peers)
    gate = ShardGate(lease: coordination.lease, uptime: uptime)
    membership = ClusterMembership(store: store, coordination: coordination, gate: gate, holders: holders)
    locator = RequestLocator(store: store, gate: gate, membership: membership, holders: holders)
    forwarder = Forwarder(gate: gate, peers: peers)
  }

  // MARK: Requests

  /// A request that this service carries out itself.
  package struct LocalRequest: Sendable {
    /// The request's body, if it was read in order to be forwarded; `nil` if it is unread.
    package let body: RequestBody?
    /// The shard for a session to be created; `nil` for other subjects.
    package let shard: Shard?
  }

  /// Carries out a request at the owner of its subject: this service, or another one to which it is forwarded. The request waits up to
  /// 30 seconds for a shard that is being handed over or taken over.
  /// - Parameters:
  ///   - isForwarded: whether another service has forwarded the request. It is not forwarded again.
  ///   - handle: carries out the request here. The shard stays here until `handle` returns.
  /// - Throws: `ClusterError`, and the errors of `handle`.
  package func route(
    _ request: ServerRequest, about subject: RequestSubject, of tenant: Tenant, isForwarded: Bool,
    _ handle: (LocalRequest) async throws -> ServerResponse
  ) async throws -> ServerResponse {
    let deadline = gate.uptime() + Self.patience
    var (body, shard): (RequestBody?, Shard?)
    if case .newSession(let name, let key) = subject {
      let new = try await locator.shard(forNew: name, key: key?.text, of: tenant)
      shard = new
      if let key, !gate.isAlone {
        if try await locator.keepsReply(under: key) {
          return try await handle(LocalRequest(body: nil, shard: new))
        }
        if !isForwarded, let reply = try await repeated(request, &body, under: key) { return reply }
      }
    }
    var hasLooked = false
    while true {
      let place =
        if let shard { try await gate.admit(shard) } else {
          try await locator.locate(of: subject, for: tenant)
        }
      switch place {
      case .here(let entered):
        defer { if let entered { gate.release(entered) } }
        return try await handle(LocalRequest(body: body, shard: shard))
      case .singleNode:
        do { return try await handle(LocalRequest(body: body, shard: nil)) } catch {
          guard try await locator.mayBeAtPeer(error) else { throw error }
          throw ClusterError.moving
        }
      case .unknown:
        guard !isForwarded else { return try await handle(LocalRequest(body: body, shard: nil)) }
        switch await forwarder.holder(of: subject) {
        case .none: return try await handle(LocalRequest(body: body, shard: nil))
        case .peer(let address):
          if let reply = try await forwarder.forward(request, &body, of: tenant, to: address) { return reply }
        case .unknown: break
        }
      case .peer(let address):
        guard !isForwarded else { throw ClusterError.misdirected }
        if let reply = try await forwarder.forward(request, &body, of: tenant, to: address) { return reply }
      }
      guard gate.uptime() < deadline else { throw ClusterError.moving }
      try await locator.refresh(waits: hasLooked)
      hasLooked = true
    }
  }

  /// Returns the reply of another service that has created an ephemeral session under the Idempotency-Key; `nil` if there is none.
  private func repeated(
    _ request: ServerRequest, _ body: inout RequestBody?, under key: IdempotencyKey
  ) async throws -> ServerResponse? {
    for address in gate.others {
      // A session must be created only once. If a service does not answer, the client has to repeat its request.
      guard let keepsReply = await forwarder.keepsReply(under: key, at: address) else {
        throw ClusterError.moving
      }
      if keepsReply, let reply = try await forwarder.forward(request, &body, of: key.tenant, to: address) {
        return reply
      }
    }
    return nil
  }

  /// A list of sessions from several services.
  package struct GatheredList<Items> {
    /// The items of this service.
    package let own: Items
    /// The items of the other services; `nil` if no other service was asked.
    package var others: [JSONValue]?
    /// Whether another service has more items.
    package var othersHaveMore = false
    /// Header fields for the reply.
    package var fields = HTTPFields()
  }

  /// Lists sessions of this service and all others. Repeats this for up to 30 seconds until each session is in at least one list.
  /// - Parameters:
  ///   - limit: the most items of each service.
  ///   - own: lists the sessions of this service.
  package func gather<Items>(
    _ request: ServerRequest, of tenant: Tenant, isForwarded: Bool, limit: Int, _ own: () throws -> Items
  ) async throws -> GatheredList<Items> {
    if isForwarded {
      let (items, shards) = try gate.list(own)
      return GatheredList(own: items, fields: [.shards: shards.text])
    }
    if isSingleNode {
      // Another service may join meanwhile and receive shards.
      let (items, shards) = try gate.list(own)
      if shards == .all { return GatheredList(own: items) }
    }
    let deadline = gate.uptime() + Self.patience
    while true {
      let (items, shards) = try gate.list(own)
      if let lists = try? await forwarder.askAll(request, of: tenant, limit: limit),
        lists.shards.union(shards) == .all
      {
        return GatheredList(own: items, others: lists.items, othersHaveMore: lists.hasMore)
      }
      guard gate.uptime() < deadline else { throw ClusterError.moving }
      try await locator.refresh(waits: true)
    }
  }

  /// Sends a JSON request about the memory of services to every other service, and returns their replies; `nil` for a service that did not
  /// answer with 200.
  package func sendToOthers(
    _ request: ServerRequest, _ json: [UInt8], of tenant: Tenant
  ) async -> [[UInt8]?] {
    isSingleNode ? [] : await forwarder.sendToAll(request, json, of: tenant)
  }

  /// Notifies the other services of a commit. Returns when they have read it, or are dead.
  package func notify(_ notification: PeerNotification) async {
    if !isSingleNode { await forwarder.send(notification) }
  }

  /// A message of another service.
  package enum Incoming {
    /// A query about this service's memory, with the reply.
    case query(ServerResponse)
    /// A forwarded request of a tenant; `nil` for a public route.
    case request(of: Tenant?)
  }

  /// Reads a message that arrived on the socket for the other services.
  package func receive(_ request: ServerRequest) async -> Incoming {
    if let answer = await Forwarder.answer(to: request, by: locator) { return .query(answer) }
    if let notification = await Forwarder.notification(in: request) {
      await holders.holder?.receive(notification)
      return .query(ServerResponse(status: .noContent))
    }
    return .request(of: request.head.headerFields[.tenant].map { Tenant(name: $0) })
  }

  // MARK: Rights of this service

  /// The number of this run, stored in its rows and files. It is greater than that of any earlier run; 0 before the service joins.
  package var epoch: Epoch { gate.epoch.load(ordering: .relaxed) }
  /// Whether no other service takes part and all sessions are here.
  package var isSingleNode: Bool { gate.isAlone }
  /// Whether this service is the leader: it joined last and does the shared jobs.
  package var isLeader: Bool { gate.isYoungest }
  /// Whether this service may begin work. No other service can have taken over from it since it last read the ledger.
  package var hasValidLease: Bool { gate.isCurrent }
  /// Returns whether the sessions of a shard are here and stay.
  package func owns(_ shard: Shard) -> Bool { gate.isReady(shard) }
  /// Returns whether the sessions of a shard are here, even if they are about to be handed over.
  package func holds(_ shard: Shard) -> Bool { gate.holds(shard) }
  /// Returns whether a service or worker with this epoch takes part.
  package func isLiving(_ epoch: Epoch) -> Bool { gate.isLiving(epoch) }

  // MARK: Membership

  /// Joins the other services and takes over from dead and frozen ones. Called once, before `route`.
  /// - Parameter holder: the owner of this service's sessions. The cluster refers to it weakly.
  /// - Returns: the number of tasks that ended because their service is dead.
  package func join(as holder: any ShardHolder) async throws(LedgerError) -> Int {
    holders.set(holder)
    try await membership.join()
    return try await membership.takeOverAndRecover()
  }

  /// Reads what the worker has done for the sessions that arrived. Called after `join`, and again after an error.
  package func catchUp() async throws(LedgerError) { try await membership.catchUp() }

  /// Takes over from dead and frozen services, recovers the sessions of new shards, and hands over shards to services that have fewer.
  /// Called each second and after another service's wakeup, once `catchUp` has succeeded.
  /// - Returns: the number of tasks that ended because their service is dead.
  package func reconcile() async throws(LedgerError) -> Int { try await membership.attend() }

  /// Does the work of each second without blocking. Requests that wait for an owner check their time limits, and requests forwarded to dead
  /// or frozen services end. If the ledger is locked, frozen services are killed.
  package func tick() {
    membership.beat()
    for address in peers?.addresses ?? [] where !coordination.isAlive(at: address) {
      cancelForwarding(address)
    }
  }

  /// Whether another service or the worker locks the ledger.
  package var isBlockedFromLedger: Bool { membership.isKeptOut }

  /// Reads the worker's reports, after the worker's wakeup.
  func pollWorkerReports() { holders.holder?.lookForNews() }
  /// Publishes commits of other processes, after their wakeup.
  func publishRemoteCommits() { store.publishRemoteCommits() }

  /// The shards whose sessions are here; empty if the lease has expired. For tests.
  package var held: ShardSet { gate.list({}).1 }

  /// The addresses of the other services, the oldest first.
  var others: [String] { gate.others }

  /// Ends the requests that were forwarded to a service.
  func cancelForwarding(_ address: String) { peers?.cancel(address) }

  /// Hands over the shards in which no task runs here, and stops tasks that another service can continue. Called until it returns `true`.
  /// - Returns: whether all shards are handed over, or no other service can receive them.
  package func handOverAll() async throws(LedgerError) -> Bool { try await membership.giveAll() }

  /// Leaves the other services. All later writes fail.
  package func leave() async throws(LedgerError) { try await membership.depart() }
}
