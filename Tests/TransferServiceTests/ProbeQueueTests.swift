import TestSupport
import Testing
import TransferModel

@testable import TransferService

/// The order and the limits of reachability probes.
@Suite struct ProbeQueueTests {
  private static func question(_ tenant: String, _ number: Int) -> ProbeRequest {
    ProbeRequest(tenant: Tenant(name: tenant), url: "http://\(number).test/", timeout: 1)
  }

  @Test func `probes beyond the limits wait or are refused`() {
    var turns = ProbeQueue(most: 3, mostOfTenant: 2, mostWaiting: 2)
    let verdicts = (0..<5).map { turns.submit(Self.question("a", $0)) }
    #expect(verdicts == [.start, .start, .wait, .wait, .refuse])
    let others = ["b", "c"].map { turns.submit(Self.question($0, 0)) }
    #expect(others == [.start, .wait], "the total limit makes the last probe wait")
    // b's probe ends. Tenant a already runs two, so c's probe starts.
    var started = ["b", "a"].map { turns.end(Tenant(name: $0)) }
    #expect(started == [[Self.question("c", 0)], [Self.question("a", 2)]])
    let given = (0..<2).map { _ in turns.cancel(Self.question("a", 3)) }
    #expect(given == [true, false])
    started = ["a", "a", "c"].map { turns.end(Tenant(name: $0)) }
    #expect(started == [[], [], []] && turns.isEmpty)
  }

  /// A tenant with many probes delays only its own.
  @Test func `tenants take turns`() {
    var turns = ProbeQueue(most: 1, mostOfTenant: 1, mostWaiting: 100)
    for number in 0..<50 { _ = turns.submit(Self.question("greedy", number)) }
    _ = turns.submit(Self.question("modest", 0))
    var order: [String] = []
    var last = Tenant(name: "greedy")
    while let next = turns.end(last).first {
      order.append(next.tenant.name)
      last = next.tenant
    }
    #expect(order.count == 50 && order.firstIndex(of: "modest").map { $0 <= 1 } == true)
    #expect(turns.isEmpty)
  }

  @Test(arguments: 0..<50) func `random schedule loses no probe and passes no limit`(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var turns = ProbeQueue(most: 4, mostOfTenant: 2, mostWaiting: 3)
    var (running, waiting) = ([ProbeRequest](), Set<ProbeRequest>())
    for step in 0..<400 {
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        let question = Self.question(["a", "b", "c", "d"].randomElement(using: &random)!, step)
        switch turns.submit(question) {
        case .start: running.append(question)
        case .wait: waiting.insert(question)
        case .refuse: #expect(waiting.count { $0.tenant == question.tenant } == 3)
        }
      case 1 where !running.isEmpty:
        let ended = running.remove(at: Int.random(in: running.indices, using: &random))
        for next in turns.end(ended.tenant) {
          #expect(waiting.remove(next) != nil)
          running.append(next)
        }
      default:
        guard let tired = waiting.sorted(by: { $0.url < $1.url }).first else { continue }
        let hasGivenUp = turns.cancel(tired)
        #expect(hasGivenUp)
        waiting.remove(tired)
      }
      #expect(running.count <= 4)
      for tenant in Set(running.map(\.tenant)) { #expect(running.count { $0.tenant == tenant } <= 2) }
      // No probe waits while its limits allow it to run.
      if running.count < 4 {
        #expect(waiting.allSatisfy { question in running.count { $0.tenant == question.tenant } == 2 })
      }
    }
    while let ended = running.popLast() {
      for next in turns.end(ended.tenant) where waiting.remove(next) != nil { running.append(next) }
    }
    #expect(waiting.isEmpty && turns.isEmpty)
  }
}
