internal import Limits
internal import Synchronization
internal import TransferModel

/// The webhook endpoints of all tenants, in memory. Each event looks up its endpoints here.
final class EndpointRegistry: Sendable {
  private struct State {
    var endpoints: [EndpointID: WebhookEndpoint] = [:]
    var ofTenant: [Tenant: [EndpointID]] = [:]
    /// The first failed attempt since the last success.
    var failingSince: [EndpointID: Timestamp] = [:]
    /// The endpoints that are being created.
    var reserved: [Tenant: Int] = [:]
    var refresh = Refresh.none
    var generation = 0
  }
  private enum Refresh { case none, running, repeated }
  private let state = Mutex(State())
  private let count = Atomic(0)
  /// Called after each change.
  let changed = LateBoundCallback<Void>()

  /// Returns the enabled and disabled endpoints of a tenant, in the order of their creation.
  func endpoints(of tenant: Tenant) -> [WebhookEndpoint] {
    guard count.load(ordering: .acquiring) > 0 else { return [] }
    return state.withLock { state in (state.ofTenant[tenant] ?? []).compactMap { state.endpoints[$0] } }
  }

  func endpoint(_ id: EndpointID) -> WebhookEndpoint? { state.withLock { $0.endpoints[id] } }

  var all: [WebhookEndpoint] { state.withLock { Array($0.endpoints.values) } }

  /// The number of changes that were made here. A read of the ledger is outdated if a change was made meanwhile.
  var generation: Int { state.withLock { $0.generation } }

  /// Replaces all endpoints with those of the ledger.
  /// - Parameter generation: the generation before the read.
  /// - Returns: the destinations of endpoints that were added, changed or deleted; `nil` if the read is outdated.
  func replaceAll(_ endpoints: [WebhookEndpoint], since generation: Int) -> [PendingDestination]? {
    let new = Dictionary(endpoints.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    let found: [PendingDestination]? = state.withLock { state in
      guard state.generation == generation else { return nil }
      let old = state.endpoints
      let ids = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
      for id in ids { replace(id, with: new[id], in: &state) }
      if !ids.isEmpty { index(&state) }
      return ids.compactMap { id in
        (new[id] ?? old[id]).map { PendingDestination($0.destination, of: $0.tenant) }
      }
    }
    if found?.isEmpty == false { changed.deliver() }
    return found
  }

  private func replace(_ id: EndpointID, with endpoint: WebhookEndpoint?, in state: inout State) {
    // The failures before an endpoint was enabled, and those before another service had success, no longer count.
    let wasDisabled = state.endpoints[id]?.isEnabled == false
    let hadFailures = state.endpoints[id]?.failingSince != nil
    if endpoint == nil || wasDisabled || hadFailures { state.failingSince[id] = nil }
    state.endpoints[id] = endpoint
  }

  /// - Returns: whether the caller must read the endpoints.
  func beginRefresh() -> Bool {
    state.withLock { state in
      defer { state.refresh = state.refresh == .none ? .running : .repeated }
      return state.refresh == .none
    }
  }

  /// - Returns: `false` if the caller must read the endpoints once more.
  func endRefresh() -> Bool {
    state.withLock { state in
      state.refresh = state.refresh == .repeated ? .running : .none
      return state.refresh == .none
    }
  }

  func set(_ endpoint: WebhookEndpoint) {
    state.withLock { state in
      state.generation += 1
      guard state.endpoints[endpoint.id].map({ $0.revision <= endpoint.revision }) ?? true else { return }
      replace(endpoint.id, with: endpoint, in: &state)
      index(&state)
    }
    changed.deliver()
  }

  func remove(_ id: EndpointID) {
    state.withLock { state in
      state.generation += 1
      replace(id, with: nil, in: &state)
      index(&state)
    }
    changed.deliver()
  }

  // MARK: The limit of endpoints

  /// Reserves a place for an endpoint that is being created.
  /// - Returns: `false` if the tenant has as many endpoints as it may.
  func reservePlace(of tenant: Tenant) -> Bool {
    state.withLock { state in
      let count = (state.ofTenant[tenant]?.count ?? 0) + (state.reserved[tenant] ?? 0)
      guard count < Limits.endpoints.value else { return false }
      state.reserved[tenant, default: 0] += 1
      return true
    }
  }

  func releasePlace(of tenant: Tenant) {
    state.withLock { state in
      let left = (state.reserved[tenant] ?? 1) - 1
      state.reserved[tenant] = left == 0 ? nil : left
    }
  }

  private func index(_ state: inout State) {
    state.ofTenant = Dictionary(grouping: state.endpoints.keys.sorted()) {
      state.endpoints[$0]?.tenant ?? .default
    }
    count.store(state.endpoints.count, ordering: .releasing)
  }

  // MARK: Failures

  /// Notes a failed attempt.
  /// - Returns: the first failed attempt since the last success.
  func noteFailure(of id: EndpointID, at time: Timestamp) -> Timestamp {
    state.withLock { state in
      let since = state.failingSince[id] ?? time
      state.failingSince[id] = since
      return since
    }
  }

  func noteSuccess(of id: EndpointID) { state.withLock { $0.failingSince[id] = nil } }
}
