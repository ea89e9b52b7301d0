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

  /// What is to begin when its owner says so.
  private let postponed = Mutex<[@Sendable () async -> Void]>([])

  /// So much is to begin.
  package var postponedCount: Int { postponed.withLock { $0.count } }

  package func postpone(_ work: @escaping @Sendable () async -> Void) {
    postponed.withLock { $0.append(work) }
  }

  /// Begins one of those, by its place.
  package func begin(_ place: Int) { spawn(postponed.withLock { $0.remove(at: place) }) }

  package func spawn(_ work: @escaping @Sendable () async -> Void) {
    Task(executorPreference: self) { await work() }
  }
}
