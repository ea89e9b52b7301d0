internal import BlobStore
internal import Curl
internal import DequeModule
internal import EventLoop
internal import HTTPCache
internal import Synchronization
internal import TransferModel

/// Carries tasks out on one event loop. A session lives on one worker, with a multi handle of its own: connections,
/// TLS sessions and limits are private to it, and a connection that is used again never skips a check that another
/// session's would have failed.
///
/// Commands come through a mailbox and are taken once a tick; what happened goes up once a tick, as one batch.
/// Queueing is here; each part does one thing to transfers, and asks the others through the worker.
final class TransferWorker: @unchecked Sendable {
  // Unchecked: what is not the mailbox, or behind a mutex, belongs to the loop's thread.
  let loop: EventLoop
  let settings: TransferEngine.Settings
  private let deliver: @Sendable ([TransferFact]) -> Void
  let mailbox: WorkerMailbox
  private let liveBodies = Mutex<[TaskID: LiveBody]>([:])

  private var queue: JobQueue
  private(set) var transfers: [TaskID: Transfer] = [:]
  /// Data tasks that became downloads: what is still on its way to the old name.
  private var renamed: [TaskID: TaskID] = [:]
  var facts: [TransferFact] = []
  private var urgent: [Transfer] = []
  private var beginning: Deque<TaskID> = []
  /// How soon it is seen again whether requests may go out.
  private static let pause = Duration.milliseconds(50)
  private var beginsLater = false
  private var isBeginning = false

  let sessions: SessionRoom
  private(set) lazy var wire = TransferWire(self)
  private(set) lazy var heads = HeadReceiver(self)
  private(set) lazy var bytes = ByteReceiver(self)
  private(set) lazy var steps = TransferSteps(self)
  private(set) lazy var endings = TransferEndings(self)
  private(set) lazy var flow = TransferFlow(self)
  private(set) lazy var decisions = TransferDecisions(self)
  private(set) lazy var challenges = TransferChallenges(self)
  private(set) lazy var handshakes = TransferHandshakes(self)
  private(set) lazy var files = TransferFiles(self)
  private(set) lazy var serving = CacheServing(self)
  private(set) lazy var keeping = CacheKeeping(self)
  private(set) lazy var connectivity = ConnectivityWaiters(self)
  private lazy var housekeeping = Housekeeping(self)

  init(
    loop: EventLoop, settings: TransferEngine.Settings, roots: TLSRoots,
    deliver: @escaping @Sendable ([TransferFact]) -> Void
  ) {
    self.loop = loop
    self.settings = settings
    self.deliver = deliver
    queue = JobQueue(maximumActive: settings.maximumActive)
    let mailbox = WorkerMailbox(loop)
    self.mailbox = mailbox
    sessions = SessionRoom(loop: loop, settings: settings, roots: roots) { mailbox.post(.run($0)) }
  }

  // MARK: From any thread

  func post(_ command: WorkerMailbox.Command) { mailbox.post(command) }

  func liveBody(of task: TaskID) -> LiveBody? { liveBodies.withLock { $0[task] } }
  func setLiveBody(_ live: LiveBody?, of task: TaskID) { liveBodies.withLock { $0[task] = live } }

  /// Begins to serve the loop; before the loop starts.
  func attach() {
    loop.atEndOfTick { [weak self] in self?.tick() }
    sessions.hasJob = { [weak self] in self?.queue.hasJob(of: $0) ?? false }
    sessions.deliverFacts = { [weak self] in self?.deliverFacts() }
  }

  // MARK: On the loop

  private func tick() {
    for command in mailbox.take() { handle(command) }
    for transfer in urgent { facts += transfer.takeFacts() }
    urgent.removeAll(keepingCapacity: true)
    deliverFacts()
  }

  private func deliverFacts() {
    guard !facts.isEmpty else { return }
    deliver(facts)
    facts.removeAll(keepingCapacity: true)
  }

  private func handle(_ command: WorkerMailbox.Command) {
    switch command {
    case .submit(let jobs): for job in jobs { submit(job) }
    case .fail(let jobs):
      let error = TransferError(
        .resourceUnavailable, "the cookies and credentials of the session cannot be read")
      for job in jobs { endings.end(job, with: error) }
    case .command(let command, let task): perform(command, on: task)
    case .drained(let task): if let transfer = transfer(task) { flow.roomDownstream(transfer) }
    case .uploadReady(let task): if let transfer = transfer(task) { flow.release(transfer, send: .source) }
    case .stored(let task, let result): if let transfer = transfer(task) { endings.stored(transfer, result) }
    case .opened(let task, let files): if let transfer = transfer(task) { self.files.opened(transfer, files) }
    case .cleared(let task): if let transfer = transfer(task) { endings.conclude(transfer) }
    case .run(let action): action()
    case .linked(let task, let body):
      if let transfer = transfer(task) { serving.linked(transfer, body) } else { body?.discard() }
    case .received(let key, let task, let body, let bodies):
      if let transfer = transfer(task) {
        keeping.received(transfer, body)
      } else {
        files.remove(key, in: bodies)
      }
    case .token(let task, let side, let token):
      if let transfer = transfer(task) { challenges.tokenMade(transfer, side, token) }
    case .networkChanged(let hasLost):
      // Nobody tells an idle connection that its network is gone: a request on it would be sent nowhere.
      if hasLost { sessions.retireConnections() }
      connectivity.networkChanged()
    case .limitChanged(let session, let origin): limitChanged(session, origin)
    case .forgetCredentials(let session, let spaces): sessions[session]?.forgetCredentials(for: spaces)
    case .reset(let session, let done):
      sessions[session]?.reset()
      done()
    case .flush(let session, let done):
      sessions[session]?.retireConnections()
      flush(session)
      done()
    case .forget(let session): forget(session)
    case .stop(let done): stop(done)
    }
  }

  /// Tells what has happened in a session, at once.
  private func flush(_ id: SessionID) {
    for transfer in transfers.values where transfer.job.session == id { facts += transfer.takeFacts() }
    deliverFacts()
  }

  /// Tells what has happened to a transfer in this turn of the loop.
  func tell(_ transfer: Transfer) {
    facts += transfer.takeFacts()
    loop.wake()
  }

  /// There is news of it that must not wait for the next round of housekeeping.
  func hurry(_ transfer: Transfer) { urgent.append(transfer) }

  func transfer(_ task: TaskID) -> Transfer? { transfers[task] ?? renamed[task].flatMap { transfers[$0] } }

  // MARK: Commands

  private func perform(_ command: TaskCommand, on task: TaskID) {
    switch command {
    case .suspend: suspend(task)
    case .resume: resume(task)
    case .cancel(let keepsPartial): cancel(task, keepsPartial)
    case .setPriority(let priority):
      transfer(task)?.job.priority = priority
      queue.setPriority(priority, of: task)
    case .setLimit(let rate):
      queue.setRate(rate, of: task)
      if let transfer = transfer(task) { flow.setLimit(rate, of: transfer) }
    case .setBeginDate: break  // The engine gets tasks when their date has come.
    case .answer(let answer, let question): decisions.answer(task, question, answer)
    }
  }

  // MARK: Queueing

  private func submit(_ job: TransferJob) {
    if let fault = job.fault ?? job.request.bodyFault { return endings.end(job, with: fault) }
    let url: CurlURL
    do throws(CurlURL.Fault) {
      url = try CurlURL(job.request.url)
    } catch {
      return endings.end(job, with: TransferError(.badURL, "bad URL", failingURL: job.request.url))
    }
    if job.request.body?.isStream == true {
      // Asked for before it queues: a slot is not held for a client that has yet to send.
      let transfer = open(job, url)
      transfer.connectsFirst = job.mayBeChallenged(at: url, job.request)
      return transfer.connectsFirst ? enqueue(transfer) : steps.askForBody(transfer)
    }
    let policy = job.request.cachePolicy ?? job.configuration.requestCachePolicy
    let session = ["GET", "HEAD"].contains(job.request.method) ? sessions.session(of: job) : nil
    if policy == .returnCacheDataDontLoad || session?.cache?.mayHave(url.text) == true {
      // It may never have to wait for its turn.
      let transfer = open(job, url)
      let verdict = serving.lookup(transfer)
      serving.carryOut(verdict, transfer)
      if case .load = verdict { enqueue(transfer) }
      return
    }
    let limit =
      sessions[job.session]?.requestsAtOnce(to: url.origin)
      ?? job.configuration.httpMaximumConnectionsPerHost
    begin(queue.submit(job, url, limit: limit))
  }

  private func begin(_ tasks: [TaskID]) {
    beginning += tasks
    // One that is answered by the cache ends at once, and lets the next begin: not on top of each other.
    guard !isBeginning else { return }
    isBeginning = true
    defer { isBeginning = false }
    while let task = beginning.first {
      guard settings.mayBegin() else {
        if !beginsLater {
          loop.schedule(at: .now + Self.pause) { [weak self] in
            self?.beginsLater = false
            self?.begin([])
          }
        }
        beginsLater = true
        return
      }
      beginning.removeFirst()
      if let (job, url) = queue.take(task) {
        wire.send(open(job, url))
      } else if let transfer = transfers[task] {
        wire.send(transfer)
      }
    }
  }

  /// Gives a job its place among the transfers.
  private func open(_ job: TransferJob, _ url: CurlURL) -> Transfer {
    let session = sessions.session(of: job)
    let transfer = Transfer(job: job, url: url, session: session, worker: self) { [weak self] in
      self?.post(.drained(job.task))
    }
    transfers[job.task] = transfer
    housekeeping.start()
    transfer.beginFetch()
    return transfer
  }

  /// Puts a transfer that is off the wire into the queue for its next request.
  func enqueue(_ transfer: Transfer) {
    guard transfer.machine.course.queue() else { return }
    let limit = transfer.session.requestsAtOnce(to: transfer.url.origin)
    begin(queue.submit(transfer.job, at: transfer.url, limit: limit))
  }

  /// An origin of a session takes more requests at once, or fewer.
  private func limitChanged(_ session: SessionID, _ origin: String) {
    guard let limit = sessions[session]?.requestsAtOnce(to: origin) else { return }
    begin(queue.setLimit(limit, of: session, at: origin))
  }

  /// Gives a transfer's slot to others.
  func leaveQueue(_ task: TaskID) { begin(queue.remove(task)) }

  private func suspend(_ task: TaskID) {
    if queue.suspend(task) {
      leaveQueue(task)
    } else if let transfer = transfer(task) {
      flow.suspend(transfer)
    }
  }

  private func resume(_ task: TaskID) {
    if let job = queue.resume(task) { return submit(job) }
    if let transfer = transfer(task) { flow.resume(transfer) }
  }

  private func cancel(_ task: TaskID, _ keepsPartial: Bool) {
    let error = TransferError(.cancelled, "cancelled")
    if let job = queue.drop(task) {
      leaveQueue(task)
      endings.end(job, with: error)
      sessions.noteIdle(job.session)
    } else if let transfer = transfer(task) {
      endings.cancel(transfer, error, keepsPartial: keepsPartial)
    }
  }

  // MARK: Ends

  /// A session is over, and what still runs for it is nobody's task.
  private func forget(_ id: SessionID) {
    guard let session = sessions.remove(id) else { return }
    for transfer in Array(transfers.values) where transfer.session === session {
      endings.abort(transfer, TransferError(.cancelled, "the session is over"), keepsPartial: false)
    }
    sessions.close(session)
  }

  private func stop(_ done: @escaping @Sendable () -> Void) {
    for transfer in transfers.values { transfer.source?.detach() }
    sessions.closeAll()
    transfers.removeAll()
    wire.close()
    done()
  }

  // MARK: Names

  /// A data task goes on as the download of that name.
  func rename(_ transfer: Transfer, to task: TaskID) {
    let old = transfer.task
    transfers[old] = nil
    transfers[task] = transfer
    renamed[old] = task
    queue.rename(old, to: task)
    transfer.job.task = task
  }

  func forget(_ transfer: Transfer) {
    transfers[transfer.task] = nil
    if let stored = transfer.job.revalidates?.stored { transfer.session.revalidating.remove(stored.key) }
    if !renamed.isEmpty { renamed = renamed.filter { $0.value != transfer.task } }
    leaveQueue(transfer.task)
    sessions.noteIdle(transfer.job.session)
  }
}
