internal import DequeModule
internal import Synchronization

/// Runs tasks when it is told to, on the thread of whoever tells: in the order in which they became ready, nothing beside another.
package final class ManualExecutor: TaskExecutor {
  private let jobs = Mutex(Deque<UnownedJob>())

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  /// Runs all that is ready, and what becomes so meanwhile.
  package func run() {
    while let job = jobs.withLock({ $0.popFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  package func spawn(_ work: @escaping @Sendable () async -> Void) {
    Task(executorPreference: self) { await work() }
  }
}
