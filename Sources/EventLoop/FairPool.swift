internal import Synchronization

/// A thread pool for Swift tasks whose work grows with the size of a request, so that they do not block threads that all clients share.
/// Each tenant has its own queue; the queues take turns.
package final class FairPool: Sendable {
  private struct QueuedJob: Sendable {
    let job: UnownedJob
    let executor: TenantExecutor
  }
  private let pool: ThreadPool
  private let queue = Mutex(FairQueue<String, QueuedJob>())

  package init(name: String, threads: Int) { pool = ThreadPool(name: name, threads: threads) }

  /// Ends the threads when the queues are empty.
  package func stop() { pool.stop() }

  /// Returns the executor that runs a tenant's tasks.
  package func executor(for tenant: String) -> any TaskExecutor { TenantExecutor(pool: self, tenant: tenant) }

  fileprivate func add(_ job: UnownedJob, of executor: TenantExecutor) {
    queue.withLock { $0.append(QueuedJob(job: job, executor: executor), for: executor.tenant) }
    // One submission per job. Each runs the job whose turn it is, not necessarily the one just added.
    pool.submit { [self] in
      guard let next = queue.withLock({ $0.next() }) else { return }
      next.job.runSynchronously(on: next.executor.asUnownedTaskExecutor())
    }
  }
}

private final class TenantExecutor: TaskExecutor {
  private let pool: FairPool
  let tenant: String

  init(pool: FairPool, tenant: String) {
    self.pool = pool
    self.tenant = tenant
  }

  func enqueue(_ job: consuming ExecutorJob) { pool.add(UnownedJob(job), of: self) }
}
