/// Runs tasks on a loop's thread: what needs no wait does not change threads. They share the thread with all that the loop has to do, so
/// this is for what is quick.
package final class LoopExecutor: TaskExecutor {
  private let loop: EventLoop

  package init(_ loop: EventLoop) { self.loop = loop }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.perform { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
