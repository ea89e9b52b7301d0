internal import EventLoop
internal import Synchronization

/// A serial queue on a pool: work runs in order, one piece at a time.
final class SerialQueue: Sendable {
  private struct State {
    var queue = SerialDrain<@Sendable () -> Void>()
  }
  private let pool: ThreadPool
  private let state = Mutex(State())

  init(pool: ThreadPool) { self.pool = pool }

  func submit(_ work: @escaping @Sendable () -> Void) {
    if state.withLock({ $0.queue.enqueue(work) }) { pool.submit { self.run() } }
  }

  /// Runs one batch, then lets the pool run other work.
  private func run() {
    for work in state.withLock({ $0.queue.dequeueAll() }) { work() }
    if !state.withLock({ $0.queue.endDraining() }) { pool.submit { self.run() } }
  }
}
