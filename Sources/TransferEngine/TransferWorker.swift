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
/// Queueing is here, what moves bytes in `TransferWorker+Flow`, what ends them in `TransferWorker+Ending`.
final class TransferWorker: @unchecked Sendable {
  // Unchecked: what is not behind a mutex belongs to the loop's thread.
  enum Command: Sendable {
    case submit([TransferJob])
    case suspend(TaskID)
    case resume(TaskID)
    case cancel(TaskID, keepsPartial: Bool)
    case answer(TaskID, Int, TransferAnswer)
    case setPriority(TaskID, Double)
    case setLimit(TaskID, bytesPerSecond: Int?)
    /// There is room downstream, or more to send.
    case drained(TaskID)
    case uploadReady(TaskID)
    case stored(TaskID, BodySink.Stored)
    case opened(TaskID, Files)
    case cleared(TaskID)
    /// Belongs to the loop, and comes from elsewhere.
    case run(@Sendable () -> Void)
    case linked(TaskID, BodyFile?)
    case received(TaskID, BodySink.Stored, BodyDirectory)
    case token(TaskID, Authenticator.Side, [UInt8]?)
    case networkChanged(hasLost: Bool)
    case limitChanged(SessionID, origin: String)
    case forgetCredentials(SessionID, [ProtectionSpace])
    case reset(SessionID, @Sendable () -> Void)
    case flush(SessionID, @Sendable () -> Void)
    case forget(SessionID)
    case stop(@Sendable () -> Void)
  }

  let loop: EventLoop
  let settings: TransferEngine.Settings
  private let deliver: @Sendable ([TransferFact]) -> Void
  let configurator: RequestConfigurator
  private let mailbox = Mutex<[Command]>([])
  private let liveBodies = Mutex<[TaskID: LiveBody]>([:])

  private var scheduler: Scheduler
  /// Tasks that have not been on the wire yet: in the scheduler, and suspended before their turn came.
  private var waiting: [TaskID: (job: TransferJob, url: CurlURL)] = [:]
  private var suspendedInQueue: [TaskID: TransferJob] = [:]
  var transfers: [TaskID: Transfer] = [:]
  /// Data tasks that became downloads: what is still on its way to the old name.
  private var renamed: [TaskID: TaskID] = [:]
  var sessions: [SessionID: WorkerSession] = [:]
  /// Sessions that are over, but for handshakes that are being refused.
  var closing: [WorkerSession] = []
  private var roots: TLSRoots
  let handles: EasyHandlePool
  var idleSessions: IdleSessions
  var idleTimer: LoopTimer?
  var facts: [TransferFact] = []
  private var urgent: [Transfer] = []
  /// Some transfer is on the wire, or was at the last look.
  var hasWire = false
  var isHousekeeping = false
  var ticks = 0
  private var beginning: Deque<TaskID> = []
  private var isBeginning = false
  /// Somebody waits for a network, and will try again after a while.
  var isLookingForNetwork = false

  init(
    loop: EventLoop, settings: TransferEngine.Settings, roots: TLSRoots,
    deliver: @escaping @Sendable ([TransferFact]) -> Void
  ) {
    self.roots = roots
    self.loop = loop
    self.settings = settings
    self.deliver = deliver
    handles = EasyHandlePool(maximumIdle: settings.maximumIdleHandles)
    idleSessions = IdleSessions(limits: settings.idleSessions)
    configurator = RequestConfigurator(userAgent: settings.userAgent)
    scheduler = Scheduler(maximumActive: settings.maximumActive)
  }

  // MARK: From any thread

  func post(_ command: Command) {
    let wasEmpty = mailbox.withLock { mailbox in
      mailbox.append(command)
      return mailbox.count == 1
    }
    if wasEmpty { loop.wake() }
  }

  func liveBody(of task: TaskID) -> LiveBody? { liveBodies.withLock { $0[task] } }
  func setLiveBody(_ live: LiveBody?, of task: TaskID) { liveBodies.withLock { $0[task] = live } }

  /// Begins to serve the loop; before the loop starts.
  func attach() { loop.atEndOfTick { [weak self] in self?.tick() } }

  // MARK: On the loop

  private func tick() {
    let commands = mailbox.withLock { mailbox in
      defer { mailbox.removeAll(keepingCapacity: true) }
      return mailbox
    }
    for command in commands { handle(command) }
    for transfer in urgent { facts += transfer.takeFacts() }
    urgent.removeAll(keepingCapacity: true)
    guard !facts.isEmpty else { return }
    deliver(facts)
    facts.removeAll(keepingCapacity: true)
  }

  private func handle(_ command: Command) {
    switch command {
    case .submit(let jobs): for job in jobs { submit(job) }
    case .suspend(let task): suspend(task)
    case .resume(let task): resume(task)
    case .cancel(let task, let keepsPartial): cancel(task, keepsPartial)
    case .answer(let task, let question, let answer): self.answer(task, question, answer)
    case .setPriority(let task, let priority): setPriority(priority, of: task)
    case .setLimit(let task, let rate): setLimit(rate, of: task)
    case .drained(let task): if let transfer = transfer(task) { roomDownstream(transfer) }
    case .uploadReady(let task): if let transfer = transfer(task) { release(transfer, send: .source) }
    case .stored(let task, let result): if let transfer = transfer(task) { stored(transfer, result) }
    case .opened(let task, let files): if let transfer = transfer(task) { opened(transfer, files) }
    case .cleared(let task): if let transfer = transfer(task) { conclude(transfer) }
    case .run(let action): action()
    case .linked(let task, let body):
      if let transfer = transfer(task) { linked(transfer, body) } else { body?.discard() }
    case .received(let task, let body, let bodies):
      if let transfer = transfer(task) { received(transfer, body) } else { remove(task, in: bodies) }
    case .token(let task, let side, let token):
      if let transfer = transfer(task) { tokenMade(transfer, side, token) }
    case .networkChanged(let hasLost):
      // Nobody tells an idle connection that its network is gone: a request on it would be sent nowhere.
      if hasLost { for session in sessions.values { session.retireConnections() } }
      networkChanged()
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
    guard !facts.isEmpty else { return }
    deliver(facts)
    facts.removeAll(keepingCapacity: true)
  }

  func transfer(_ task: TaskID) -> Transfer? { transfers[task] ?? renamed[task].flatMap { transfers[$0] } }

  // MARK: Queueing

  private func submit(_ job: TransferJob) {
    if let fault = job.fault ?? Self.fault(of: job) { return end(job, with: fault) }
    let url: CurlURL
    do throws(CurlURL.Fault) {
      url = try CurlURL(job.request.url)
    } catch {
      return end(job, with: TransferError(.badURL, "bad URL", failingURL: job.request.url))
    }
    if job.request.body?.isStream == true {
      // Asked for before it queues: a slot is not held for a client that has yet to send.
      guard let transfer = open(job, url) else { return }
      transfer.connectsFirst = transfer.mayBeChallenged(at: url, job.request)
      return transfer.connectsFirst ? enqueue(transfer) : askForBody(transfer)
    }
    if mayBeCached(job, url) {
      if let transfer = open(job, url), !isServedByCache(transfer) { enqueue(transfer) }
      return
    }
    waiting[job.task] = (job, url)
    let lane = Scheduler.Lane(session: job.session, origin: url.origin)
    let limit =
      sessions[job.session]?.requestsAtOnce(to: url.origin)
      ?? job.configuration.httpMaximumConnectionsPerHost
    begin(scheduler.submit(job.task, in: lane, limit: limit, priority: job.priority))
  }

  /// As URLSession: a GET has no body.
  private static func fault(of job: TransferJob) -> TransferError? {
    guard job.request.method == "GET", job.request.body != nil else { return nil }
    return TransferError(
      .dataLengthExceedsMaximum, "a GET request must not have a body", failingURL: job.request.url)
  }

  private func begin(_ tasks: [TaskID]) {
    beginning += tasks
    // One that is answered by the cache ends at once, and lets the next begin: not on top of each other.
    guard !isBeginning else { return }
    isBeginning = true
    defer { isBeginning = false }
    while let task = beginning.popFirst() {
      if let (job, url) = waiting.removeValue(forKey: task) {
        if let transfer = open(job, url) { send(transfer) }
      } else if let transfer = transfers[task] {
        send(transfer)
      }
    }
  }

  /// Gives a job its place among the transfers; nil where it has ended by that.
  private func open(_ job: TransferJob, _ url: CurlURL) -> Transfer? {
    let session: WorkerSession
    do {
      session = try self.session(of: job)
    } catch {
      let message = "the session's certificates cannot be used: \(error)"
      end(job, with: TransferError(.unknown, message, failingURL: job.request.url))
      leaveQueue(job.task)
      return nil
    }
    let transfer = Transfer(job: job, url: url, tools: tools, session: session) { [weak self] in
      self?.post(.drained(job.task))
    }
    transfers[job.task] = transfer
    startHousekeeping()
    transfer.beginFetch()
    return transfer
  }

  private lazy var tools = Transfer.Tools(
    egress: settings.egress, credentials: settings.credentials, cookies: settings.cookies,
    networks: settings.networks,
    attemptLimit: settings.maximumAuthenticationAttempts, now: settings.now,
    makeSink: { [unowned self] in makeSink($0, resuming: $1) },
    isUrgent: { [unowned self] in urgent.append($0) },
    holdForRate: { [unowned self] in holdForRate($0, $1, $2) },
    stopWaitingForBody: { [unowned self] in post(.uploadReady($0.task)) },
    makeToken: { [unowned self] in makeToken($0, $1) },
    limitChanged: { [unowned self] in post(.limitChanged($0.job.session, origin: $0.url.origin)) })

  func session(of job: TransferJob) throws -> WorkerSession {
    if let session = sessions[job.session] { return session }
    let session = try WorkerSession(job: job, roots: roots, settings: settings) { [weak self] in
      self?.post(.run($0))
    }
    sessions[job.session] = session
    return session
  }

  /// The service's authorities are others now.
  func replaceRoots(_ roots: TLSRoots) {
    self.roots = roots
    for session in sessions.values { session.replaceRoots(roots) }
  }

  /// Puts a transfer that is off the wire into the queue for its next request.
  func enqueue(_ transfer: Transfer) {
    guard !transfer.flow.isSuspended else {
      transfer.stage = .parked
      return
    }
    transfer.stage = .queued
    let lane = Scheduler.Lane(session: transfer.job.session, origin: transfer.url.origin)
    let limit = transfer.session.requestsAtOnce(to: transfer.url.origin)
    begin(scheduler.submit(transfer.task, in: lane, limit: limit, priority: transfer.job.priority))
  }

  /// An origin of a session takes more requests at once, or fewer.
  private func limitChanged(_ session: SessionID, _ origin: String) {
    guard let limit = sessions[session]?.requestsAtOnce(to: origin) else { return }
    begin(scheduler.setLimit(limit, of: Scheduler.Lane(session: session, origin: origin)))
  }

  /// Gives a transfer's slot to others.
  func leaveQueue(_ task: TaskID) { begin(scheduler.remove(task)) }

  private func setPriority(_ priority: Double, of task: TaskID) {
    waiting[task]?.job.priority = priority
    suspendedInQueue[task]?.priority = priority
    transfer(task)?.job.priority = priority
    scheduler.setPriority(priority, of: task)
  }

  private func setLimit(_ rate: Int?, of task: TaskID) {
    waiting[task]?.job.maximumBytesPerSecond = rate
    suspendedInQueue[task]?.maximumBytesPerSecond = rate
    if let transfer = transfer(task) { setLimit(rate, of: transfer) }
  }

  /// Takes a task that waits for its turn out of the queue.
  func takeWaiting(_ task: TaskID) -> TransferJob? {
    guard let job = waiting.removeValue(forKey: task)?.job else { return nil }
    leaveQueue(task)
    return job
  }

  private func suspend(_ task: TaskID) {
    if let job = takeWaiting(task) {
      suspendedInQueue[task] = job
    } else if let transfer = transfer(task) {
      suspend(transfer)
    }
  }

  private func resume(_ task: TaskID) {
    if let job = suspendedInQueue.removeValue(forKey: task) { return submit(job) }
    if let transfer = transfer(task) { resume(transfer) }
  }

  private func cancel(_ task: TaskID, _ keepsPartial: Bool) {
    let error = TransferError(.cancelled, "cancelled")
    if let job = takeWaiting(task) ?? suspendedInQueue.removeValue(forKey: task) {
      end(job, with: error)
    } else if let transfer = transfer(task) {
      cancel(transfer, error, keepsPartial: keepsPartial)
    }
  }

  // MARK: Names

  /// A data task goes on as the download of that name.
  func rename(_ transfer: Transfer, to task: TaskID) {
    let old = transfer.task
    transfers[old] = nil
    transfers[task] = transfer
    renamed[old] = task
    scheduler.rename(old, to: task)
    transfer.job.task = task
  }

  func forget(_ transfer: Transfer) {
    transfers[transfer.task] = nil
    if let stored = transfer.job.revalidates?.stored { transfer.session.revalidating.remove(stored.key) }
    if !renamed.isEmpty { renamed = renamed.filter { $0.value != transfer.task } }
    leaveQueue(transfer.task)
  }
}
