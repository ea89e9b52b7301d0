internal import Synchronization

/// Threads for tasks whose work grows with what clients send, away from those that all clients share. Each tenant's tasks wait in a
/// queue of their own.
package final class FairPool: Sendable {
  private struct Turn: Sendable {
    let job: UnownedJob
    let executor: Executor
  }
  private let pool: WorkerPool
  private let queue = Mutex(FairQueue<String, Turn>())

  package init(name: String, threads: Int) { pool = WorkerPool(name: name, threads: threads) }

  /// Ends the threads once the queues are empty.
  package func stop() { pool.stop() }

  /// Runs a tenant's tasks.
  package func executor(for tenant: String) -> any TaskExecutor { Executor(pool: self, tenant: tenant) }

  fileprivate func add(_ job: UnownedJob, of executor: Executor) {
    queue.withLock { $0.append(Turn(job: job, executor: executor), of: executor.tenant) }
    // One call for each job, which need not be the one that it runs.
    pool.submit { [self] in
      guard let turn = queue.withLock({ $0.next() }) else { return }
      turn.job.runSynchronously(on: turn.executor.asUnownedTaskExecutor())
    }
  }
}

private final class Executor: TaskExecutor {
  private let pool: FairPool
  let tenant: String

  init(pool: FairPool, tenant: String) {
    self.pool = pool
    self.tenant = tenant
  }

  func enqueue(_ job: consuming ExecutorJob) { pool.add(UnownedJob(job), of: self) }
}
