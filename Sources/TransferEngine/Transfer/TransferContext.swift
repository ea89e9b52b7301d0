internal import Curl
internal import DequeModule
internal import EngineAPI
internal import EventLoop
internal import HTTPCache
internal import Synchronization
internal import TransferModel

/// The state that the stages of a transfer loop share: its transfers, queue, sessions and facts. Used only on the loop's thread, except for
/// the mailbox and the live bodies.
final class TransferContext: @unchecked Sendable {
  // Unchecked: constants and the contents of the mutex apart, all members are used only on the loop's thread.
  let loop: EventLoop
  let settings: EngineSettings
  let mailbox: TransferLoopMailbox
  let sessions: SessionPool
  var queue: JobQueue
  private(set) var transfers: [TaskID: Transfer] = [:]
  /// The new ids of data tasks that became downloads. Some commands still have the old id.
  private var renamed: [TaskID: TaskID] = [:]
  /// Tasks that have a slot and have not begun yet.
  private var ready: Deque<TaskID> = []
  private var facts: [TransferFact] = []
  private var urgent: [Transfer] = []
  private let liveBodies = Mutex<[TaskID: LiveBody]>([:])
  /// Carries out an action of a transfer.
  var perform: (TransferAction, Transfer) -> Void = { _, _ in }

  init(loop: EventLoop, settings: EngineSettings, roots: CertificateAuthoritySet) {
    self.loop = loop
    self.settings = settings
    queue = JobQueue(maximumActive: settings.maximumActive)
    let mailbox = TransferLoopMailbox(loop)
    self.mailbox = mailbox
    sessions = SessionPool(loop: loop, settings: settings, roots: roots) { mailbox.post(.run($0)) }
  }

  // MARK: Transfers

  func transfer(_ task: TaskID) -> Transfer? { transfers[task] ?? renamed[task].flatMap { transfers[$0] } }

  func add(_ transfer: Transfer) { transfers[transfer.task] = transfer }

  /// Continues a data task as a download with another id.
  func rename(_ transfer: Transfer, to task: TaskID) {
    let old = transfer.task
    transfers[old] = nil
    transfers[task] = transfer
    renamed[old] = task
    queue.rename(old, to: task)
    transfer.job.task = task
  }

  /// Removes a transfer that has ended.
  func remove(_ transfer: Transfer) {
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

  /// Performs the next action of a transfer, if the transfer still exists.
  func resume(_ task: TaskID, _ next: (Transfer) -> TransferAction) {
    guard let transfer = transfer(task) else { return }
    perform(next(transfer), transfer)
  }

  // MARK: Queueing

  func submit(_ job: TransferJob, _ url: CurlURL, limit: Int) {
    ready += queue.submit(job, url, limit: limit)
  }

  /// Queues the next request of a transfer that is off the wire.
  func enqueue(_ transfer: Transfer) {
    guard transfer.machine.lifecycle.queue() else { return }
    let limit = transfer.session.requestsAtOnce(to: transfer.url.origin)
    ready += queue.submit(transfer.job, at: transfer.url, limit: limit)
  }

  /// Gives a task's slot, or its place in the queue, to others.
  func leaveQueue(_ task: TaskID) { ready += queue.remove(task) }

  /// Applies a changed limit of requests to an origin.
  func limitChanged(_ session: SessionID, _ origin: String) {
    guard let limit = sessions[session]?.requestsAtOnce(to: origin) else { return }
    ready += queue.setLimit(limit, of: session, at: origin)
  }

  var hasReady: Bool { !ready.isEmpty }

  /// Returns the next task to begin; `nil` if there is none.
  func takeReady() -> TaskID? {
    while let task = ready.popFirst() {
      // The task may have left the queue meanwhile.
      if queue.isActive(task) { return task }
    }
    return nil
  }

  // MARK: Facts

  func report(_ fact: TransferFact) { facts.append(fact) }

  /// Collects a transfer's facts for the next batch.
  func reportFacts(_ transfer: Transfer) { facts += transfer.takeFacts() }

  /// Collects a transfer's facts at the end of the tick, including later ones.
  func reportAtEndOfTick(_ transfer: Transfer) { urgent.append(transfer) }

  /// Delivers all facts so far, in order.
  func deliverFacts(_ deliver: ([TransferFact]) -> Void) {
    for transfer in urgent { facts += transfer.takeFacts() }
    urgent.removeAll(keepingCapacity: true)
    guard !facts.isEmpty else { return }
    deliver(facts)
    facts.removeAll(keepingCapacity: true)
  }

  // MARK: Live bodies

  /// Returns the body of a running data task. May be called on any thread.
  func liveBody(of task: TaskID) -> LiveBody? { liveBodies.withLock { $0[task] } }
  func setLiveBody(_ live: LiveBody?, of task: TaskID) { liveBodies.withLock { $0[task] = live } }
}
