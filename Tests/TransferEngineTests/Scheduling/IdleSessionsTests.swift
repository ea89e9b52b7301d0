import Testing
import TransferModel

@testable import TransferEngine

@Suite struct IdleSessionsTests {
  private let start = ContinuousClock.now
  private func id(_ number: UInt64) -> SessionID { SessionID(high: 0, low: number) }
  private func idle(_ change: (inout IdleSessions.Limits) -> Void = { _ in }) -> IdleSessions {
    var limits = IdleSessions.Limits()
    change(&limits)
    return IdleSessions(limits: limits)
  }

  @Test func `session that was idle for its lifetime closes`() {
    var idle = idle { $0.lifetime = .seconds(60) }
    #expect(idle.nextDeadline == nil)
    for number in 0..<3 { idle.insert(id(UInt64(number)), descriptors: 3, at: start + .seconds(number)) }
    #expect(idle.nextDeadline == start + .seconds(60))
    #expect(idle.takeOverdue(at: start + .seconds(59)) == [])
    #expect(idle.takeOverdue(at: start + .seconds(61)) == [id(0), id(1)])
    #expect(idle.nextDeadline == start + .seconds(62))
  }

  @Test func `busy session keeps its connections`() {
    var idle = idle()
    idle.insert(id(1), descriptors: 3, at: start)
    idle.insert(id(2), descriptors: 3, at: start)
    idle.remove(id(1))
    idle.remove(id(9))
    idle.insert(id(1), descriptors: 3, at: start + .seconds(30))
    #expect(idle.takeOverdue(at: start + .seconds(60)) == [id(2)])
    #expect(idle.nextDeadline == start + .seconds(90))
  }

  @Test func `longest idle sessions make room for others`() {
    var many = idle { $0.sessions = 2 }
    var wide = idle { $0.descriptors = 10 }
    var large = idle { $0.bytes = 10 }
    for number in 1...4 as ClosedRange<UInt64> {
      many.insert(id(number), descriptors: 2, at: start)
      wide.insert(id(number), descriptors: 4, at: start)
      for _ in 0..<2 { large.insert(id(number), descriptors: 0, bytes: 4, at: start) }
    }
    #expect(large.exceedsLimits && large.takeOverdue(at: start) == [id(1), id(2)] && !large.exceedsLimits)
    #expect(many.exceedsLimits && wide.exceedsLimits)
    #expect(many.takeOverdue(at: start) == [id(1), id(2)])
    #expect(wide.takeOverdue(at: start) == [id(1), id(2)])
    #expect(!many.exceedsLimits && !wide.exceedsLimits)
    #expect(wide.takeAll() == [id(3), id(4)] && wide.takeAll() == [] && wide.nextDeadline == nil)
  }

  /// Sessions without connections count by their bytes only. A client that reads does not restart a session's idle time.
  @Test func `data that can be read again counts separately`() {
    var idle = idle { ($0.sessions, $0.bytes) = (1, 10) }
    for number in 1...3 as ClosedRange<UInt64> {
      idle.insert(id(number), descriptors: 0, bytes: 3, at: start)
    }
    idle.insert(id(4), descriptors: 2, at: start + .seconds(30))
    #expect(!idle.exceedsLimits && idle.contains(id(1)) && !idle.contains(id(5)))
    idle.update(id(2), bytes: 5)
    idle.update(id(5), bytes: 99)
    #expect(idle.exceedsLimits && idle.takeOverdue(at: start) == [id(1)])
    #expect(idle.takeOverdue(at: start + .seconds(60)) == [id(2), id(3)])
    #expect(idle.nextDeadline == start + .seconds(90))
  }

  /// Idle sessions may have an eighth of the process's descriptors.
  @Test(arguments: [(256, 1, 32), (1024, 2, 64), (1 << 20, 1, 2048), (1024, 0, 128)])
  func `limits follow the descriptor limit`(_ limit: Int, _ workers: Int, _ descriptors: Int) {
    #expect(IdleSessions.Limits(descriptorLimit: limit, workers: workers).descriptors == descriptors)
  }
}
