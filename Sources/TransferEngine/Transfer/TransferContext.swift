internal import Curl
internal import DequeModule
internal import EngineAPI
internal import EventLoop
internal import HTTPCache
internal import Synchronization
internal import TransferModel

/// What the stages of a worker share: its transfers, the queue, the sessions and the facts to tell. On the worker's loop only, but for the
/// mailbox and the live bodies.
final class TransferContext: @unchecked Sendable {
  // Unchecked: what is not constant, or behind the mutex, belongs to the loop's thread.
  let loop: EventLoop
  let settings: EngineSettings
  let mailbox: WorkerMailbox
  let sessions: SessionRoom
  var queue: JobQueue
  private(set) var transfers: [TaskID: Transfer] = [:]
  /// New ids of data tasks that became downloads: some messages bear the old id.
  private var renamed: [TaskID: TaskID] = [:]
  /// Tasks whose turn has come, and which the worker has not begun yet.
  private var ready: Deque<TaskID> = []
  private var facts: [TransferFact] = []
  private var urgent: [Transfer] = []
  private let liveBodies = Mutex<[TaskID: LiveBody]>([:])
  /// Carries out what follows for a transfer.
  var perform: (TransferAction, Transfer) -> Void = { _, _ in }

  init(loop: EventLoop, settings: EngineSettings, roots: TLSRoots) {
    self.loop = loop
    self.settings = settings
    queue = JobQueue(maximumActive: settings.maximumActive)
    let mailbox = WorkerMailbox(loop)
    self.mailbox = mailbox
    sessions = SessionRoom(loop: loop, settings: settings, roots: roots) { mailbox.post(.run($0)) }
  }

  // MARK: Transfers

  func transfer(_ task: TaskID) -> Transfer? { transfers[task] ?? renamed[task].flatMap { transfers[$0] } }

  func add(_ transfer: Transfer) { transfers[transfer.task] = transfer }

  /// A data task goes on as the download of that name.
  func rename(_ transfer: Transfer, to task: TaskID) {
    let old = transfer.task
    transfers[old] = nil
    transfers[task] = transfer
    renamed[old] = task
    queue.rename(old, to: task)
    transfer.job.task = task
  }

  /// The transfer is over.
  func forget(_ transfer: Transfer) {
    transfers[transfer.task] = nil
    if let stored = transfer.job.revalidates?.stored { transfer.session.revalidating.remove(stored.key) }
    if !renamed.isEmpty { renamed = renamed.filter { $0.value != transfer.task } }
    leaveQueue(transfer.task)
    sessions.noteIdle(transfer.job.session)
  }

  func forgetAll() {
    transfers.removeAll()
    ready.removeAll()
  }

  /// Goes on with a transfer where it is still there.
  func goOn(_ task: TaskID, _ next: (Transfer) -> TransferAction) {
    guard let transfer = transfer(task) else { return }
    perform(next(transfer), transfer)
  }

  // MARK: Queueing

  func submit(_ job: TransferJob, _ url: CurlURL, limit: Int) {
    ready += queue.submit(job, url, limit: limit)
  }

  /// Puts a transfer that is off the wire into the queue for its next request.
  func enqueue(_ transfer: Transfer) {
    guard transfer.machine.course.queue() else { return }
    let limit = transfer.session.requestsAtOnce(to: transfer.url.origin)
    ready += queue.submit(transfer.job, at: transfer.url, limit: limit)
  }

  /// Gives a task's slot, or its place in the queue, to others.
  func leaveQueue(_ task: TaskID) { ready += queue.remove(task) }

  /// An origin of a session takes more requests at once, or fewer.
  func limitChanged(_ session: SessionID, _ origin: String) {
    guard let limit = sessions[session]?.requestsAtOnce(to: origin) else { return }
    ready += queue.setLimit(limit, of: session, at: origin)
  }

  var hasReady: Bool { !ready.isEmpty }

  /// The next task to begin; nil: there is none.
  func takeReady() -> TaskID? {
    while let task = ready.popFirst() {
      // It may have given its turn away meanwhile.
      if queue.isActive(task) { return task }
    }
    return nil
  }

  // MARK: Facts

  func report(_ fact: TransferFact) { facts.append(fact) }

  /// Tells what has happened to a transfer by now, with the next batch of facts.
  func tell(_ transfer: Transfer) { facts += transfer.takeFacts() }

  /// Reports a transfer's facts at the end of the tick, with those still to come.
  func hurry(_ transfer: Transfer) { urgent.append(transfer) }

  /// Hands over all there is to tell now, in order.
  func deliverFacts(_ deliver: ([TransferFact]) -> Void) {
    for transfer in urgent { facts += transfer.takeFacts() }
    urgent.removeAll(keepingCapacity: true)
    guard !facts.isEmpty else { return }
    deliver(facts)
    facts.removeAll(keepingCapacity: true)
  }

  // MARK: Live bodies

  /// The body of a data task that is under way. From any thread.
  func liveBody(of task: TaskID) -> LiveBody? { liveBodies.withLock { $0[task] } }
  func setLiveBody(_ live: LiveBody?, of task: TaskID) { liveBodies.withLock { $0[task] = live } }
}
