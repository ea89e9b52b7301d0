import Synchronization
import Testing

@testable import TransferService

@Suite struct LateBoundCallbackTests {
  @Test func `value delivered before connect is lost`() {
    let relay = LateBoundCallback<Int>()
    let received = Mutex<[Int]>([])
    relay.deliver(1)
    relay.connect { value in received.withLock { $0.append(value) } }
    relay.deliver(2)
    #expect(received.withLock { $0 } == [2])
  }

  /// The stack grows with each closure that wraps another one.
  @Test func `stack depth of a delivery does not grow with earlier deliveries`() {
    let relay = LateBoundCallback<Int>()
    let depths = Mutex<Set<UInt>>([])
    relay.connect { _ in
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1) { local in
        _ = depths.withLock { $0.insert(UInt(bitPattern: local.baseAddress)) }
      }
    }
    for _ in 0..<100_000 { relay.deliver(1) }
    #expect(depths.withLock { $0.count } == 1)
  }
}
