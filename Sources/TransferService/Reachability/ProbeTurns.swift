internal import DequeModule
internal import Limits
internal import TransferModel

/// A question whether an origin can be reached. Those that are equal at one time share an answer.
struct ProbeQuestion: Sendable, Hashable {
  let tenant: Tenant
  let url: String
  /// Seconds.
  let timeout: Double
}

/// Which questions are being answered, and which wait for that: so many in all, so many of one tenant, and the tenants take turns. Pure.
struct ProbeTurns {
  enum Verdict: Equatable {
    case start, wait
    /// Too many of the tenant wait already.
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
  /// Tenants with questions that wait, in the order of their turns; each is there once.
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

  /// A tenant's question was answered.
  /// - Returns: those that start in its place.
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

  /// It has waited too long. False where it does not wait any more.
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

  /// Nothing is answered, and nothing waits.
  var isEmpty: Bool { runningInAll == 0 && running.isEmpty && waiting.isEmpty && turns.isEmpty }
}
