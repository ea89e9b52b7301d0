internal import EventLoop
internal import Synchronization

/// Work for a pool that is done in order, one piece at a time, whatever else the pool does.
final class SerialLane: Sendable {
  private struct State {
    var queue = SerialDrain<@Sendable () -> Void>()
  }
  private let pool: WorkerPool
  private let state = Mutex(State())

  init(pool: WorkerPool) { self.pool = pool }

  func submit(_ work: @escaping @Sendable () -> Void) {
    if state.withLock({ $0.queue.enqueue(work) }) { pool.submit { self.run() } }
  }

  /// One batch, then it is the turn of others.
  private func run() {
    for work in state.withLock({ $0.queue.take() }) { work() }
    if !state.withLock({ $0.queue.end() }) { pool.submit { self.run() } }
  }
}
