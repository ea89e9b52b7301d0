internal import EventLoop
internal import Synchronization

/// Work for a pool that is done in order, one piece at a time, whatever else the pool does.
final class SerialLane: Sendable {
  private struct State {
    var work: [@Sendable () -> Void] = []
    var isRunning = false
  }
  private let pool: WorkerPool
  private let state = Mutex(State())

  init(pool: WorkerPool) { self.pool = pool }

  func submit(_ work: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      state.work.append(work)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { pool.submit { self.run() } }
  }

  /// One batch, then it is the turn of others.
  private func run() {
    let batch = state.withLock { state in
      defer { state.work = [] }
      return state.work
    }
    for work in batch { work() }
    let isEmpty = state.withLock { state in
      state.isRunning = !state.work.isEmpty
      return state.work.isEmpty
    }
    if !isEmpty { pool.submit { self.run() } }
  }
}
