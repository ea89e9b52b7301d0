internal import DequeModule
internal import Limits
internal import TransferModel

/// A reachability probe. Identical concurrent probes share one result.
struct ProbeRequest: Sendable, Hashable {
  let tenant: Tenant
  let url: String
  /// In seconds.
  let timeout: Double
}

/// The queue of reachability probes, as a plain value. It limits the running probes, in all and per tenant, and serves waiting
/// tenants in turn.
struct ProbeQueue {
  enum Admission: Equatable {
    case start, wait
    /// Too many of the tenant's probes are waiting.
    case refuse
  }

  private let most: Int
  /// The limit of running probes of one tenant.
  var mostOfTenant: Int
  private let mostWaiting: Int
  /// The number of running probes of each tenant.
  private var running: [Tenant: Int] = [:]
  private var runningInAll = 0
  private var waiting: [Tenant: Deque<ProbeRequest>] = [:]
  /// Tenants with waiting probes, in the order of their turns. Each tenant appears once.
  private var tenantOrder: Deque<Tenant> = []

  init(
    most: Int = Limits.probes.value, mostOfTenant: Int = Limits.probesOfTenant.value,
    mostWaiting: Int = Limits.waitingProbes.value
  ) {
    self.most = most
    self.mostOfTenant = mostOfTenant
    self.mostWaiting = mostWaiting
  }

  private func mayStart(_ tenant: Tenant) -> Bool {
    runningInAll < most && running[tenant, default: 0] < mostOfTenant
  }

  mutating func submit(_ request: ProbeRequest) -> Admission {
    let tenant = request.tenant
    let queue = waiting[tenant]?.count ?? 0
    if queue == 0, mayStart(tenant) {
      begin(tenant)
      return .start
    }
    guard queue < mostWaiting else { return .refuse }
    if queue == 0 { tenantOrder.append(tenant) }
    waiting[tenant, default: []].append(request)
    return .wait
  }

  private mutating func begin(_ tenant: Tenant) {
    running[tenant, default: 0] += 1
    runningInAll += 1
  }

  /// Notes that a tenant's probe has ended.
  /// - Returns: the probes that the caller must start now.
  mutating func end(_ tenant: Tenant) -> [ProbeRequest] {
    let left = running[tenant, default: 1] - 1
    running[tenant] = left == 0 ? nil : left
    runningInAll -= 1
    assert(runningInAll >= 0 && left >= 0)
    var started: [ProbeRequest] = []
    for _ in 0..<tenantOrder.count where runningInAll < most {
      let next = tenantOrder.removeFirst()
      guard mayStart(next), let request = waiting[next]?.popFirst() else {
        tenantOrder.append(next)
        continue
      }
      begin(next)
      started.append(request)
      keepTurn(of: next)
    }
    return started
  }

  /// Removes a probe that has waited too long. Returns `false` if the probe is not waiting.
  mutating func cancel(_ request: ProbeRequest) -> Bool {
    guard let place = waiting[request.tenant]?.firstIndex(of: request) else { return false }
    waiting[request.tenant]?.remove(at: place)
    tenantOrder.removeAll { $0 == request.tenant }
    keepTurn(of: request.tenant)
    return true
  }

  private mutating func keepTurn(of tenant: Tenant) {
    if waiting[tenant]?.isEmpty == false { tenantOrder.append(tenant) } else { waiting[tenant] = nil }
  }

  /// Whether no probe is running or waiting.
  var isEmpty: Bool { runningInAll == 0 && running.isEmpty && waiting.isEmpty && tenantOrder.isEmpty }
}
