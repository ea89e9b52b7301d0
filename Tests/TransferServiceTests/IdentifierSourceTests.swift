import Synchronization
import Testing
import TransferModel
import TransferService

@Suite struct IdentifierSourceTests {
  @Test func `ids contain the time and grow within a millisecond`() {
    let source = IdentifierSource { Timestamp(microseconds: 1_800_000_000_123_456) }
    let ids: [TaskID] = (0..<10_000).map { _ in source.make() }
    #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 })
    // RFC 9562 §5.7: the first 48 bits are milliseconds.
    #expect(ids[0].high >> 16 == 1_800_000_000_123)
    #expect(ids[0].high >> 12 & 15 == 7 && ids[0].low >> 62 == 2)
  }

  @Test func `ids grow when the clock runs backwards`() {
    let clock = Mutex<Int64>(1_800_000_000_000_000)
    let source = withExtendedLifetime(Clock(clock)) { clock in IdentifierSource { clock.tick() } }
    let ids: [TaskID] = (0..<1000).map { _ in source.make() }
    #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 })
  }

  /// A clock that runs backwards.
  private final class Clock: Sendable {
    private let time: Mutex<Int64>
    init(_ time: consuming Mutex<Int64>) { self.time = time }
    func tick() -> Timestamp {
      time.withLock { time in
        time -= 1500
        return Timestamp(microseconds: time)
      }
    }
  }
}
