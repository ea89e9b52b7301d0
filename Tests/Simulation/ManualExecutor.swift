internal import DequeModule
internal import Synchronization

/// An executor that runs ready tasks on its caller's thread: in the order in which they became ready, and one at a time.
package final class ManualExecutor: TaskExecutor {
  private let jobs = Mutex(Deque<UnownedJob>())

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  /// Runs all ready tasks, and those that become ready meanwhile.
  package func run() {
    while let job = jobs.withLock({ $0.popFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// The work that waits for `begin`.
  private let postponed = Mutex<[@Sendable () async -> Void]>([])

  /// The number of postponed work items.
  package var postponedCount: Int { postponed.withLock { $0.count } }

  package func postpone(_ work: @escaping @Sendable () async -> Void) {
    postponed.withLock { $0.append(work) }
  }

  /// Starts the postponed work item at the given index.
  package func begin(_ place: Int) { spawn(postponed.withLock { $0.remove(at: place) }) }

  package func spawn(_ work: @escaping @Sendable () async -> Void) {
    Task(executorPreference: self) { await work() }
  }
}
