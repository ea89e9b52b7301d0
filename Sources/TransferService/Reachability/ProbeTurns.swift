internal import DequeModule
internal import Limits
internal import TransferModel

/// A reachability probe. Identical concurrent probes share one result.
struct ProbeQuestion: Sendable, Hashable {
  let tenant: Tenant
  let url: String
  /// Seconds.
  let timeout: Double
}

/// The queue of reachability probes. It limits the running probes, in all and per tenant, and serves waiting tenants in turn. Pure.
struct ProbeTurns {
  enum Verdict: Equatable {
    case start, wait
    /// Too many of the tenant's probes are waiting.
    case refuse
  }

  private let most: Int
  /// Of one tenant, at once.
  var mostOfTenant: Int
  private let mostWaiting: Int
  /// Of each tenant.
  private var running: [Tenant: Int] = [:]
  private var runningInAll = 0
  private var waiting: [Tenant: Deque<ProbeQuestion>] = [:]
  /// Tenants with waiting probes, in the order of their turns; each is there once.
  private var turns: Deque<Tenant> = []

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

  mutating func ask(_ question: ProbeQuestion) -> Verdict {
    let tenant = question.tenant
    let queue = waiting[tenant]?.count ?? 0
    if queue == 0, mayStart(tenant) {
      begin(tenant)
      return .start
    }
    guard queue < mostWaiting else { return .refuse }
    if queue == 0 { turns.append(tenant) }
    waiting[tenant, default: []].append(question)
    return .wait
  }

  private mutating func begin(_ tenant: Tenant) {
    running[tenant, default: 0] += 1
    runningInAll += 1
  }

  /// A tenant's probe has ended.
  /// - Returns: the probes that the caller must start now.
  mutating func end(_ tenant: Tenant) -> [ProbeQuestion] {
    let left = running[tenant, default: 1] - 1
    running[tenant] = left == 0 ? nil : left
    runningInAll -= 1
    assert(runningInAll >= 0 && left >= 0)
    var started: [ProbeQuestion] = []
    for _ in 0..<turns.count where runningInAll < most {
      let next = turns.removeFirst()
      guard mayStart(next), let question = waiting[next]?.popFirst() else {
        turns.append(next)
        continue
      }
      begin(next)
      started.append(question)
      keepTurn(of: next)
    }
    return started
  }

  /// Removes a probe that has waited too long. False if the probe is not waiting.
  mutating func giveUp(_ question: ProbeQuestion) -> Bool {
    guard let place = waiting[question.tenant]?.firstIndex(of: question) else { return false }
    waiting[question.tenant]?.remove(at: place)
    turns.removeAll { $0 == question.tenant }
    keepTurn(of: question.tenant)
    return true
  }

  private mutating func keepTurn(of tenant: Tenant) {
    if waiting[tenant]?.isEmpty == false { turns.append(tenant) } else { waiting[tenant] = nil }
  }

  /// No probe is running or waiting.
  var isEmpty: Bool { runningInAll == 0 && running.isEmpty && waiting.isEmpty && turns.isEmpty }
}
