internal import Curl
internal import EngineAPI
internal import TransferModel

/// The waiting work: jobs that have not been on the wire yet, and transfers between two requests. Pure.
struct JobQueue {
  typealias Job = (job: TransferJob, url: CurlURL)

  private var scheduler: Scheduler
  /// Jobs in the scheduler.
  private var waiting: [TaskID: Job] = [:]
  /// Jobs that were suspended before they had a slot.
  private var suspended: [TaskID: TransferJob] = [:]
  /// The number of these jobs of each session.
  private var counts: [SessionID: Int] = [:]

  init(maximumActive: Int) { scheduler = Scheduler(maximumActive: maximumActive) }

  // MARK: Waiting
  // Each of these methods returns the tasks that receive a slot.

  mutating func submit(_ job: TransferJob, _ url: CurlURL, limit: Int) -> [TaskID] {
    waiting[job.task] = (job, url)
    counts[job.session, default: 0] += 1
    return submit(job, at: url, limit: limit)
  }

  /// Queues a transfer for its next request.
  mutating func submit(_ job: TransferJob, at url: CurlURL, limit: Int) -> [TaskID] {
    let lane = Scheduler.Queue(session: job.session, origin: url.origin)
    return scheduler.submit(job.task, in: lane, limit: limit, priority: job.priority)
  }

  /// Removes a task from its slot, or from the queue.
  mutating func remove(_ task: TaskID) -> [TaskID] { scheduler.remove(task) }

  mutating func setLimit(_ limit: Int, of session: SessionID, at origin: String) -> [TaskID] {
    scheduler.setLimit(limit, of: Scheduler.Queue(session: session, origin: origin))
  }

  /// Returns whether a task has a slot.
  func isActive(_ task: TaskID) -> Bool { scheduler.isActive(task) }

  // MARK: Jobs

  /// Removes and returns the job of a task that has a slot; `nil` if the task has been on the wire.
  mutating func dequeue(_ task: TaskID) -> Job? {
    let taken = waiting.removeValue(forKey: task)
    countDown(taken?.job)
    return taken
  }

  /// Returns whether a job of the session has not been on the wire yet.
  func hasJob(of session: SessionID) -> Bool { counts[session] != nil }

  private mutating func countDown(_ job: TransferJob?) {
    guard let job, let count = counts[job.session] else { return }
    counts[job.session] = count > 1 ? count - 1 : nil
  }

  /// Removes and returns the job of a task that ends before it had a slot, suspended or not. The caller must also remove the task.
  mutating func drop(_ task: TaskID) -> TransferJob? {
    dequeue(task)?.job ?? resume(task)
  }

  /// Holds a job back until it is resumed. Returns `false` if the task has no job here. The caller must also remove the task.
  mutating func suspend(_ task: TaskID) -> Bool {
    guard let job = waiting.removeValue(forKey: task)?.job else { return false }
    suspended[task] = job
    return true
  }

  /// Removes and returns the job of a suspended task, to be submitted again.
  mutating func resume(_ task: TaskID) -> TransferJob? {
    let job = suspended.removeValue(forKey: task)
    countDown(job)
    return job
  }

  // MARK: Changes

  mutating func setPriority(_ priority: Double, of task: TaskID) {
    waiting[task]?.job.priority = priority
    suspended[task]?.priority = priority
    scheduler.setPriority(priority, of: task)
  }

  mutating func setRate(_ bytesPerSecond: Int?, of task: TaskID) {
    waiting[task]?.job.maximumBytesPerSecond = bytesPerSecond
    suspended[task]?.maximumBytesPerSecond = bytesPerSecond
  }

  mutating func rename(_ task: TaskID, to name: TaskID) { scheduler.rename(task, to: name) }
}
