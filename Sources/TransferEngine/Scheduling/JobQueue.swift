internal import Curl
internal import EngineAPI
internal import TransferModel

/// What waits for its turn: jobs that have not been on the wire yet, and transfers between two requests. Pure.
struct JobQueue {
  typealias Job = (job: TransferJob, url: CurlURL)

  private var scheduler: Scheduler
  /// In the scheduler.
  private var waiting: [TaskID: Job] = [:]
  /// Suspended before their turn came.
  private var suspended: [TaskID: TransferJob] = [:]
  /// How many of these jobs a session has.
  private var counts: [SessionID: Int] = [:]

  init(maximumActive: Int) { scheduler = Scheduler(maximumActive: maximumActive) }

  // MARK: Waiting
  // Each of these returns the tasks whose turn has come by it.

  mutating func submit(_ job: TransferJob, _ url: CurlURL, limit: Int) -> [TaskID] {
    waiting[job.task] = (job, url)
    counts[job.session, default: 0] += 1
    return submit(job, at: url, limit: limit)
  }

  /// A transfer waits for its next request.
  mutating func submit(_ job: TransferJob, at url: CurlURL, limit: Int) -> [TaskID] {
    let lane = Scheduler.Lane(session: job.session, origin: url.origin)
    return scheduler.submit(job.task, in: lane, limit: limit, priority: job.priority)
  }

  /// A task needs its slot no more, or its place.
  mutating func remove(_ task: TaskID) -> [TaskID] { scheduler.remove(task) }

  mutating func setLimit(_ limit: Int, of session: SessionID, at origin: String) -> [TaskID] {
    scheduler.setLimit(limit, of: Scheduler.Lane(session: session, origin: origin))
  }

  /// Whether a task has a slot: its turn has come.
  func isActive(_ task: TaskID) -> Bool { scheduler.isActive(task) }

  // MARK: Jobs

  /// The job of a task whose turn has come; nil where it has been on the wire.
  mutating func take(_ task: TaskID) -> Job? {
    let taken = waiting.removeValue(forKey: task)
    countDown(taken?.job)
    return taken
  }

  /// Whether a job of the session has not been on the wire yet.
  func hasJob(of session: SessionID) -> Bool { counts[session] != nil }

  private mutating func countDown(_ job: TransferJob?) {
    guard let job, let count = counts[job.session] else { return }
    counts[job.session] = count > 1 ? count - 1 : nil
  }

  /// The job of a task that is over before its turn came, suspended or not. Its place is to be given away.
  mutating func drop(_ task: TaskID) -> TransferJob? {
    take(task)?.job ?? resume(task)
  }

  /// Takes a job out until it is resumed; false where the task has no job here. Its place is to be given away.
  mutating func suspend(_ task: TaskID) -> Bool {
    guard let job = waiting.removeValue(forKey: task)?.job else { return false }
    suspended[task] = job
    return true
  }

  /// The job of a suspended task, to be submitted again.
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
