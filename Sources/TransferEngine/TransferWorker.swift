internal import Curl
internal import EventLoop
internal import Synchronization
internal import TransferModel

/// Carries tasks out on one event loop. A session lives on one worker, with a multi handle of its own: connections,
/// TLS sessions and limits are private to it, and a connection that is used again never skips a check that another
/// session's would have failed.
///
/// Commands come through a mailbox and are taken once a tick; what happened goes up once a tick, as one batch.
final class TransferWorker: @unchecked Sendable {
  // Unchecked: what is not behind a mutex belongs to the loop's thread.
  enum Command: Sendable {
    case submit([TransferJob])
    case suspend(TaskID)
    case resume(TaskID)
    case cancel(TaskID)
    case drained(TaskID)
    case stored(TaskID, Result<(body: TransferOutcome.Body, sha256: String), TransferError>)
    case forget(SessionID)
    case stop(@Sendable () -> Void)
  }

  private static let housekeepingInterval = Duration.milliseconds(50)
  private static let progressEvery = 5

  private let loop: EventLoop
  private let settings: TransferEngine.Settings
  private let deliver: @Sendable ([TransferFact]) -> Void
  private let configurator: RequestConfigurator
  private let mailbox = Mutex<[Command]>([])
  private let liveBodies = Mutex<[TaskID: LiveBody]>([:])

  private var scheduler: Scheduler
  private var waiting: [TaskID: TransferJob] = [:]
  private var urls: [TaskID: CurlURL] = [:]
  private var suspendedInQueue: [TaskID: TransferJob] = [:]
  private var transfers: [TaskID: Transfer] = [:]
  private var byHandle: [ObjectIdentifier: Transfer] = [:]
  private var finishing: [TaskID: TransferOutcome] = [:]
  private var transports: [SessionID: CurlTransport] = [:]
  private var idleHandles: [EasyHandle] = []
  private var facts: [TransferFact] = []
  private var isHousekeeping = false
  private var ticks = 0

  init(
    loop: EventLoop, settings: TransferEngine.Settings, deliver: @escaping @Sendable ([TransferFact]) -> Void
  ) {
    self.loop = loop
    self.settings = settings
    self.deliver = deliver
    configurator = RequestConfigurator(
      userAgent: settings.userAgent, certificateAuthorityFile: settings.certificateAuthorityFile)
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

  /// Begins to serve the loop; before the loop starts.
  func attach() { loop.atEndOfTick { [weak self] in self?.tick() } }

  // MARK: On the loop

  private func tick() {
    let commands = mailbox.withLock { mailbox in
      defer { mailbox.removeAll(keepingCapacity: true) }
      return mailbox
    }
    for command in commands { handle(command) }
    guard !facts.isEmpty else { return }
    deliver(facts)
    facts.removeAll(keepingCapacity: true)
  }

  private func handle(_ command: Command) {
    switch command {
    case .submit(let jobs): for job in jobs { submit(job) }
    case .suspend(let task): suspend(task)
    case .resume(let task): resume(task)
    case .cancel(let task): cancel(task)
    case .drained(let task): sinkDrained(task)
    case .stored(let task, let result): stored(task, result)
    case .forget(let session): transports.removeValue(forKey: session)?.close()
    case .stop(let done): stop(done)
    }
  }

  private func submit(_ job: TransferJob) {
    if let fault = Self.fault(of: job) { return end(job, with: fault) }
    let url: CurlURL
    do throws(CurlURL.Fault) {
      url = try CurlURL(job.request.url)
    } catch {
      return end(job, with: TransferError(.badURL, "bad URL", failingURL: job.request.url))
    }
    waiting[job.task] = job
    urls[job.task] = url
    let lane = Scheduler.Lane(session: job.session, origin: url.origin)
    let limit = job.configuration.httpMaximumConnectionsPerHost
    begin(scheduler.submit(job.task, in: lane, limit: limit, priority: job.priority))
  }

  /// As URLSession: a GET has no body.
  private static func fault(of job: TransferJob) -> TransferError? {
    guard job.request.method == "GET", job.request.body != nil else { return nil }
    return TransferError(
      .dataLengthExceedsMaximum, "a GET request must not have a body", failingURL: job.request.url)
  }

  private func begin(_ tasks: [TaskID]) {
    for task in tasks {
      guard let job = waiting.removeValue(forKey: task), let url = urls.removeValue(forKey: task) else {
        continue
      }
      start(job, url)
    }
  }

  private func start(_ job: TransferJob, _ url: CurlURL) {
    do {
      let easy = try idleHandles.popLast() ?? EasyHandle()
      let transfer = Transfer(
        job: job, url: url, easy: easy, egress: settings.egress, now: settings.now,
        makeSink: { [unowned self] in makeSink(job.task, live: $0) },
        drained: { [weak self] in self?.post(.drained(job.task)) })
      transfers[job.task] = transfer
      byHandle[ObjectIdentifier(easy)] = transfer
      if let live = transfer.live { liveBodies.withLock { $0[job.task] = live } }
      try send(transfer)
      startHousekeeping()
    } catch {
      finish(job.task, with: TransferError(.unknown, "libcurl: \(error)", failingURL: job.request.url))
    }
  }

  private func send(_ transfer: Transfer) throws {
    let transport = try transport(of: transfer.job)
    transfer.easy.reset()
    try configurator.configure(transfer, multi: transport.multi)
    try transport.add(transfer.easy)
  }

  private func transport(of job: TransferJob) throws -> CurlTransport {
    if let transport = transports[job.session] { return transport }
    let transport = try CurlTransport(
      loop: loop, multiplexing: job.configuration.httpShouldUsePipelining,
      maximumIdleConnections: max(64, job.configuration.httpMaximumConnectionsPerHost * 4))
    transport.onCompletion = { [unowned self] in completed($0) }
    transports[job.session] = transport
    return transport
  }

  private func makeSink(_ task: TaskID, live: LiveBody?) -> BodySink {
    BodySink(
      smallBodyLimit: settings.smallBodyLimit, maximumSize: settings.maximumBodySize, live: live,
      makeFile: { [settings] in
        BodyFile(temporaryPath: settings.bodies.temporaryPath(task), pool: settings.pool)
      })
  }

  // MARK: Flow

  private func suspend(_ task: TaskID) {
    if let job = waiting.removeValue(forKey: task) {
      urls[task] = nil
      suspendedInQueue[task] = job
      begin(scheduler.remove(task))
    } else if let transfer = transfers[task], !transfer.isSuspended {
      transfer.isSuspended = true
      transfer.suspendedAt = .now
      transfer.easy.pause()
    }
  }

  private func resume(_ task: TaskID) {
    if let job = suspendedInQueue.removeValue(forKey: task) { return submit(job) }
    guard let transfer = transfers[task], transfer.isSuspended else { return }
    transfer.isSuspended = false
    // A suspended task has no timeouts: the clocks go on from where they stood.
    transfer.resourceDeadline += transfer.suspendedAt.duration(to: .now)
    transfer.touch()
    if !transfer.isPausedBySink { transports[transfer.job.session]?.resume(transfer.easy) }
  }

  private func sinkDrained(_ task: TaskID) {
    guard let transfer = transfers[task] else { return }
    transfer.sink?.drainEnded()
    guard transfer.isPausedBySink else { return }
    transfer.isPausedBySink = false
    transfer.touch()
    if !transfer.isSuspended { transports[transfer.job.session]?.resume(transfer.easy) }
  }

  private func cancel(_ task: TaskID) {
    let error = TransferError(.cancelled, "cancelled")
    if let job = waiting.removeValue(forKey: task) ?? suspendedInQueue.removeValue(forKey: task) {
      urls[task] = nil
      begin(scheduler.remove(task))
      end(job, with: error)
    } else if let transfer = transfers[task], finishing[task] == nil {
      abort(transfer, error)
    }
  }

  private func abort(_ transfer: Transfer, _ error: TransferError) {
    transports[transfer.job.session]?.remove(transfer.easy)
    transfer.recordTransaction(endedAt: settings.now())
    finish(transfer.job.task, with: error)
  }

  // MARK: Ends

  private func completed(_ completion: MultiHandle.Completion) {
    guard let transfer = byHandle[ObjectIdentifier(completion.easy)] else { return }
    transfer.recordTransaction(endedAt: settings.now())
    let task = transfer.job.task
    guard completion.result == .ok else {
      return finish(task, with: transfer.failure(completion.result))
    }
    do {
      guard try transfer.followRedirect() else { return finish(task, with: nil) }
      try send(transfer)
    } catch let error as TransferError {
      transfer.acceptUnfollowedHead()
      finish(task, with: error)
    } catch {
      finish(task, with: TransferError(.unknown, "libcurl: \(error)", failingURL: transfer.request.url))
    }
  }

  /// The wire is done with the task; its body may still be on its way to the disk.
  private func finish(_ task: TaskID, with error: TransferError?) {
    guard let transfer = transfers[task] else { return }
    let outcome = TransferOutcome(
      error: error, currentRequest: transfer.request, response: transfer.response,
      progress: transfer.progress,
      transactions: transfer.transactions, endedAt: settings.now())
    guard error == nil, let sink = transfer.sink else {
      transfer.sink?.discard()
      return conclude(transfer, outcome)
    }
    finishing[task] = outcome
    let isOnLoop = loop
    sink.finish(as: settings.bodies.path(task)) { [self] result in
      if isOnLoop.isOnLoop { stored(task, result) } else { post(.stored(task, result)) }
    }
  }

  private func stored(
    _ task: TaskID, _ result: Result<(body: TransferOutcome.Body, sha256: String), TransferError>
  ) {
    guard let transfer = transfers[task], var outcome = finishing.removeValue(forKey: task) else { return }
    switch result {
    case .success(let stored):
      outcome.body = stored.body
      outcome.sha256 = stored.sha256
      outcome.size = transfer.sink?.size ?? 0
    case .failure(var error):
      error.failingURL = transfer.request.url
      outcome.error = error
    }
    outcome.endedAt = settings.now()
    conclude(transfer, outcome)
  }

  private func conclude(_ transfer: Transfer, _ outcome: TransferOutcome) {
    let task = transfer.job.task
    transfers[task] = nil
    byHandle[ObjectIdentifier(transfer.easy)] = nil
    transfer.live?.end(outcome.error == nil ? .finished : .failed)
    if transfer.live != nil { liveBodies.withLock { $0[task] = nil } }
    // After a failure libcurl 7.88 may keep a buffer that a reset leaves, and then refuses options (43).
    if outcome.error == nil, idleHandles.count < settings.maximumIdleHandles {
      transfer.easy.reset()
      idleHandles.append(transfer.easy)
    }
    facts += transfer.takeFacts()
    facts.append(.ended(task, outcome))
    begin(scheduler.remove(task))
    loop.wake()
  }

  /// Ends a task that never reached the wire.
  private func end(_ job: TransferJob, with error: TransferError) {
    facts.append(
      .ended(
        job.task,
        TransferOutcome(
          error: error, currentRequest: job.request, response: nil, progress: TaskProgress(),
          transactions: [],
          endedAt: settings.now())))
    loop.wake()
  }

  // MARK: Housekeeping

  private func startHousekeeping() {
    guard !isHousekeeping else { return }
    isHousekeeping = true
    loop.schedule(at: .now + Self.housekeepingInterval) { [weak self] in self?.keepHouse() }
  }

  /// Timeouts, facts that are worth telling before the end, and now and then progress.
  private func keepHouse() {
    isHousekeeping = false
    ticks += 1
    let now = ContinuousClock.now
    let time = settings.now()
    for (task, transfer) in transfers where finishing[task] == nil {
      facts += transfer.takeFacts()
      if ticks.isMultiple(of: Self.progressEvery), let progress = transfer.takeProgress() {
        facts.append(.progress(task, progress, at: time))
      }
      if let timeout = transfer.timeout(at: now) {
        abort(transfer, timeout)
      } else if transfer.live != nil || ticks.isMultiple(of: Self.progressEvery) {
        transfer.sink?.flushSlow { [weak self] in self?.post(.drained(task)) }
      }
    }
    if !transfers.isEmpty { startHousekeeping() }
  }

  private func stop(_ done: @escaping @Sendable () -> Void) {
    for transport in transports.values { transport.close() }
    transports.removeAll()
    transfers.removeAll()
    byHandle.removeAll()
    idleHandles.removeAll()
    done()
  }
}
