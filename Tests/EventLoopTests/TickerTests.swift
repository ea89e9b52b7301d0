import Glibc
import Synchronization
import TestSupport
import Testing

@testable import EventLoop

@Suite(.blocking) struct TickerTests {
  private final class Seen: Sendable {
    let threads = Mutex<[pthread_t]>([])
  }

  @Test func `ticker runs on its own thread`() {
    let (seen, gate) = (Seen(), Gate())
    let ticker = Ticker(name: "test-ticker", every: .milliseconds(1)) { ticker in
      seen.threads.withLock { $0.append(pthread_self()) }
      ticker.perform {
        seen.threads.withLock { $0.append(pthread_self()) }
        gate.open()
      }
    }
    for _ in 0..<3 { gate.wait() }
    ticker.stop()
    let threads = seen.threads.withLock { $0 }
    #expect(threads.count >= 6 && Set(threads).count == 1 && threads[0] != pthread_self())
  }

  /// A stop waits for the current call.
  @Test func `stopped ticker does not tick`() {
    let (count, gate) = (Seen(), Gate())
    let ticker = Ticker(name: "test-ticker", every: .zero) { _ in
      gate.open()
      usleep(2000)
      count.threads.withLock { $0.append(pthread_self()) }
    }
    gate.wait()
    ticker.stop()
    let ticks = count.threads.withLock(\.count)
    ticker.perform { count.threads.withLock { $0.append(pthread_self()) } }
    usleep(10_000)
    #expect(ticks >= 1 && count.threads.withLock(\.count) == ticks)
  }
}
