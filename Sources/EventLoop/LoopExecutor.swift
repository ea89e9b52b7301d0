/// An executor that runs tasks on a loop's thread, which saves a change of threads. The tasks must be short, because the loop's other
/// work waits for them.
package final class LoopExecutor: TaskExecutor {
  private let loop: EventLoop

  package init(_ loop: EventLoop) { self.loop = loop }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.perform { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
