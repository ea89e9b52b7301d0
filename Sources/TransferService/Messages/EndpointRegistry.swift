internal import Synchronization
internal import TransferModel

/// The webhook endpoints of all tenants, in memory. Each event looks up its endpoints here.
final class EndpointRegistry: Sendable {
  private struct State {
    var endpoints: [EndpointID: WebhookEndpoint] = [:]
    var ofTenant: [Tenant: [EndpointID]] = [:]
    /// The first failed attempt since the last success.
    var failingSince: [EndpointID: Timestamp] = [:]
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
  /// - Returns: whether anything has changed; `nil` if the read is outdated.
  @discardableResult
  func replaceAll(_ endpoints: [WebhookEndpoint], since generation: Int) -> Bool? {
    let known = Dictionary(endpoints.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    let hasChanged: Bool? = state.withLock { state in
      guard state.generation == generation else { return nil }
      guard state.endpoints != known else { return false }
      state.endpoints = known
      index(&state)
      return true
    }
    if hasChanged == true { changed.deliver() }
    return hasChanged
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
      state.endpoints[endpoint.id] = endpoint
      index(&state)
    }
    changed.deliver()
  }

  func remove(_ id: EndpointID) {
    state.withLock { state in
      state.generation += 1
      (state.endpoints[id], state.failingSince[id]) = (nil, nil)
      index(&state)
    }
    changed.deliver()
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
      let since = state.endpoints[id]?.failingSince ?? state.failingSince[id] ?? time
      state.failingSince[id] = since
      return since
    }
  }

  func noteSuccess(of id: EndpointID) { state.withLock { $0.failingSince[id] = nil } }
}
