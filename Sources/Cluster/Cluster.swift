package import HTTPServer
package import HTTPTypes
package import JSON
package import Ledger
internal import Synchronization
package import TransferModel

/// The services that share a ledger, as one of them sees it: it joins them, takes over from those that are dead, shares the shards with
/// them, and sends each request to the owner of its session.
///
/// Requests come in by `route`; whatever the service writes bears its `epoch`. The rest of the service asks a few questions about shards,
/// and holds the sessions of its own (`ShardHolder`).
package final class Cluster: Sendable {
  /// How long a request looks for its owner.
  private static let patience = Duration.seconds(30)

  private let store: any Ledger
  private let coordination: any Coordination
  private let peers: (any PeerConnections)?
  private let holders = HolderReference()
  private let owners: Owners
  private let membership: Membership
  private let forwarder: Forwarder
  private let locator: RequestLocator

  /// - Parameters:
  ///   - coordination: of the processes that share the ledger; by default there is one.
  ///   - peers: sends requests to the other services; nil if there are none.
  ///   - uptime: a monotonic clock.
  package init(
    store: any Ledger, coordination: any Coordination = Solitude(), peers: (any PeerConnections)? = nil,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    (self.store, self.coordination, self.peers) = (store, coordination, peers)
    owners = Owners(lease: coordination.lease, uptime: uptime)
    membership = Membership(store: store, coordination: coordination, owners: owners, holders: holders)
    locator = RequestLocator(store: store, owners: owners, membership: membership, holders: holders)
    forwarder = Forwarder(owners: owners, peers: peers)
  }

  // MARK: Requests

  /// A request that is carried out here.
  package struct Entry: Sendable {
    /// The request's body, if it had to be read to be forwarded; nil: it is unread.
    package let body: RequestBody?
    /// The shard for a session to be created; nil for other subjects.
    package let shard: Shard?
  }

  /// Carries a request out at the owner of its subject: here, or at another service, whose reply comes back. It waits up to 30 seconds
  /// for a shard that is being handed over or taken over.
  /// - Parameters:
  ///   - isForwarded: another service has forwarded it; it is not forwarded again.
  ///   - handle: carries it out here. The shard stays here until it returns.
  /// - Throws: `ClusterError`, and what `handle` throws.
  package func route(
    _ request: ServerRequest, about subject: Subject, of tenant: Tenant, isForwarded: Bool,
    _ handle: (Entry) async throws -> ServerResponse
  ) async throws -> ServerResponse {
    let deadline = owners.uptime() + Self.patience
    var (body, shard): (RequestBody?, Shard?)
    if case .newSession(let name, let key) = subject {
      let new = try await locator.shard(forNew: name, key: key?.text, of: tenant)
      shard = new
      if let key, !owners.isAlone {
        if try await locator.keepsReply(under: key) { return try await handle(Entry(body: nil, shard: new)) }
        if !isForwarded, let reply = try await repeated(request, &body, under: key) { return reply }
      }
    }
    var hasLooked = false
    while true {
      let place =
        if let shard { try await owners.enter(shard) } else {
          try await locator.place(of: subject, for: tenant)
        }
      switch place {
      case .here(let entered):
        defer { if let entered { owners.leave(entered) } }
        return try await handle(Entry(body: body, shard: shard))
      case .alone:
        do { return try await handle(Entry(body: body, shard: nil)) } catch {
          guard try await locator.mayBeElsewhere(error) else { throw error }
          throw ClusterError.moving
        }
      case .unknown:
        guard !isForwarded else { return try await handle(Entry(body: body, shard: nil)) }
        switch await forwarder.holder(of: subject) {
        case .nobody: return try await handle(Entry(body: body, shard: nil))
        case .process(let address):
          if let reply = try await forwarder.forward(request, &body, of: tenant, to: address) { return reply }
        case .unclear: break
        }
      case .elsewhere(let address):
        guard !isForwarded else { throw ClusterError.misdirected }
        if let reply = try await forwarder.forward(request, &body, of: tenant, to: address) { return reply }
      }
      guard owners.uptime() < deadline else { throw ClusterError.moving }
      try await locator.refresh(waits: hasLooked)
      hasLooked = true
    }
  }

  /// The reply of another service that has the reply to an Idempotency-Key in its memory: it created an ephemeral session.
  private func repeated(
    _ request: ServerRequest, _ body: inout RequestBody?, under key: IdempotencyKey
  ) async throws -> ServerResponse? {
    for address in owners.others {
      // The session is created once: if a service does not answer, the client must repeat its request.
      guard let keepsReply = await forwarder.keepsReply(under: key, at: address) else {
        throw ClusterError.moving
      }
      if keepsReply, let reply = try await forwarder.forward(request, &body, of: key.tenant, to: address) {
        return reply
      }
    }
    return nil
  }

  /// A list of sessions that several services hold.
  package struct Gathered<Items> {
    /// This service's own.
    package let own: Items
    /// The other services' items; nil if no other service was asked.
    package var others: [JSONValue]?
    /// Whether another service has more items.
    package var othersHaveMore = false
    /// Header fields for the reply.
    package var fields = HTTPFields()
  }

  /// Lists sessions here and at all other services, until each session is in at least one list; up to 30 seconds.
  /// - Parameters:
  ///   - limit: of the items of each service.
  ///   - own: lists the sessions here.
  package func gather<Items>(
    _ request: ServerRequest, of tenant: Tenant, isForwarded: Bool, limit: Int, _ own: () throws -> Items
  ) async throws -> Gathered<Items> {
    if isForwarded {
      let (items, shards) = try owners.list(own)
      return Gathered(own: items, fields: [.shards: shards.text])
    }
    if isAlone { return Gathered(own: try own()) }
    let deadline = owners.uptime() + Self.patience
    while true {
      let (items, shards) = try owners.list(own)
      if let lists = try? await forwarder.askAll(request, of: tenant, limit: limit),
        lists.shards.union(shards) == .all
      {
        return Gathered(own: items, others: lists.items, othersHaveMore: lists.hasMore)
      }
      guard owners.uptime() < deadline else { throw ClusterError.moving }
      try await locator.refresh(waits: true)
    }
  }

  /// A message of another service.
  package enum Incoming {
    /// A question, with its answer.
    case question(ServerResponse)
    /// A request that was forwarded for a tenant; nil for a public route.
    case request(of: Tenant?)
  }

  /// Reads a message that came in on the socket for the other services.
  package func receive(_ request: ServerRequest) async -> Incoming {
    if let answer = await Forwarder.answer(to: request, by: locator) { return .question(answer) }
    return .request(of: request.head.headerFields[.tenant].map { Tenant(name: $0) })
  }

  // MARK: What the service may do

  /// This run's number, stored in its rows and files: greater than in any earlier run. 0 before it joins.
  package var epoch: Epoch { owners.epoch.load(ordering: .relaxed) }
  /// No other service takes part, and all sessions are here.
  package var isAlone: Bool { owners.isAlone }
  /// This service joined last: it does the shared jobs.
  package var isYoungest: Bool { owners.isYoungest }
  /// Whether this service may begin work: no other can have taken over from it since it last read the ledger.
  package var isCurrent: Bool { owners.isCurrent }
  /// Whether the sessions of a shard are here and stay.
  package func owns(_ shard: Shard) -> Bool { owners.isReady(shard) }
  /// Whether the sessions of a shard are here. They may be about to be handed over.
  package func holds(_ shard: Shard) -> Bool { owners.holds(shard) }
  /// Whether a service or worker with this epoch takes part.
  package func isLiving(_ epoch: Epoch) -> Bool { owners.isLiving(epoch) }

  // MARK: Taking part

  /// Joins the other services, and takes over from those that are gone. Called once, before `route`.
  /// - Parameter holder: the sessions here. The cluster does not keep it alive.
  /// - Returns: how many tasks ended because the service that carried them out is gone.
  package func join(as holder: any ShardHolder) async throws(StoreError) -> Int {
    holders.set(holder)
    try await membership.enter()
    return try await membership.look()
  }

  /// Finds out what the worker did for the sessions that arrived. Called after `join`; again if it fails.
  package func catchUp() async throws(StoreError) { try await membership.catchUp() }

  /// Takes over from dead and frozen services, recovers what has become this service's own, and gives shards to services that have
  /// fewer. Called each second and when another service rings, once `catchUp` has succeeded.
  /// - Returns: how many tasks ended because the service that carried them out is gone.
  package func attend() async throws(StoreError) -> Int { try await membership.attend() }

  /// A second has passed: requests that wait for an owner look at the time, frozen services are killed if the ledger is locked, and
  /// requests forwarded to dead or frozen services end. It never blocks.
  package func beat() {
    membership.beat()
    for address in peers?.addresses ?? [] where !coordination.isAlive(at: address) { abandon(address) }
  }

  /// Whether another service or the worker locks the ledger.
  package var isKeptOut: Bool { membership.isKeptOut }

  /// The worker rang: there may be news.
  func lookForNews() { holders.holder?.lookForNews() }
  /// Another service or the worker rang: there may be events in the journal.
  func follow() { store.follow() }

  /// The shards whose sessions are here, as far as this service may rely on what it knows. For tests.
  package var held: ShardSet { owners.list({}).1 }

  /// The addresses of the other services, the oldest first.
  var others: [String] { owners.others }

  /// Ends what was forwarded to a service.
  func abandon(_ address: String) { peers?.abandon(address) }

  /// Hands over the shards in which no task runs here, and stops the tasks that can continue elsewhere. Called until it returns true.
  /// - Returns: whether nothing is left to hand over.
  package func giveAll() async throws(StoreError) -> Bool { try await membership.giveAll() }

  /// Leaves the other services: nothing is written from here on.
  package func depart() async throws(StoreError) { try await membership.depart() }
}
