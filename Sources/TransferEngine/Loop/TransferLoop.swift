internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPCache
internal import TransferModel

/// A transfer loop: runs tasks on one event loop. A session belongs to one transfer loop and has multi handles of its own. Its
/// connections, TLS sessions and limits are therefore private, and a reused connection has passed this session's checks.
///
/// Commands arrive through a mailbox, which is emptied once a tick. Facts are delivered once a tick, as one batch. Each stage has one
/// job, uses only the stages below it, and returns the next `TransferAction`, which `perform` carries out.
final class TransferLoop: @unchecked Sendable {
  // Unchecked: all members except the context are used only on the loop's thread.
  let context: TransferContext
  private let deliver: @Sendable ([TransferFact]) -> Void

  // The stages, from the lowest up. `RequestFinisher` belongs between `connectivity` and `sender`, which keeps a reference to it.
  private let wire: EasyHandleAttachment
  private let files: TransferFileLoader
  private let delivery: ResponseDelivery
  private let flow: FlowController
  private let handshakes: HandshakeHandler
  private let challenges: ChallengeHandler
  private let serving: CacheResponder
  private let keeping: CacheStorer
  private let heads: HeadReceiver
  private let bytes: ByteReceiver
  private let connectivity: ConnectivityWaiters
  private let sender: RequestSender
  private let decisions: DecisionHandler
  private let endings: TransferFinisher
  private let housekeeping: PeriodicChecks

  /// The interval at which `EngineSettings.mayBegin` is checked again.
  private static let pause = Duration.milliseconds(50)
  private var beginsLater = false
  private var isStopped = false

  init(
    loop: EventLoop, settings: EngineSettings, roots: CertificateAuthoritySet,
    deliver: @escaping @Sendable ([TransferFact]) -> Void
  ) {
    self.deliver = deliver
    context = TransferContext(loop: loop, settings: settings, roots: roots)
    wire = EasyHandleAttachment(context)
    files = TransferFileLoader(context)
    delivery = ResponseDelivery(context)
    flow = FlowController(context)
    handshakes = HandshakeHandler(context, wire)
    challenges = ChallengeHandler(context, wire, delivery)
    serving = CacheResponder(context, delivery)
    keeping = CacheStorer(context, wire, files, delivery)
    heads = HeadReceiver(context, keeping, challenges, delivery)
    bytes = ByteReceiver(context, heads, delivery, flow)
    connectivity = ConnectivityWaiters(context)
    let completion = RequestFinisher(context, wire, heads, bytes, challenges, connectivity)
    sender = RequestSender(
      context, wire, serving, challenges, handshakes, files, completed: completion.completed)
    decisions = DecisionHandler(context, delivery, challenges, handshakes, bytes)
    endings = TransferFinisher(context, wire, files, keeping)
    housekeeping = PeriodicChecks(context, wire, sender, keeping)
  }

  // MARK: From any thread

  var loop: EventLoop { context.loop }
  var mailbox: TransferLoopMailbox { context.mailbox }
  func liveBody(of task: TaskID) -> LiveBody? { context.liveBody(of: task) }

  /// Connects the transfer loop to its event loop. Call this before the event loop starts.
  func attach() {
    loop.atEndOfTick { [weak self] in self?.tick() }
    context.perform = { [weak self] in self?.perform($0, $1) }
    context.sessions.hasJob = { [weak context] in context?.queue.hasJob(of: $0) ?? false }
    context.sessions.deliverFacts = { [weak self] in self?.deliverFacts() }
  }

  // MARK: On the loop

  private func tick() {
    for command in mailbox.drain() { handle(command) }
    beginReady()
    context.sessions.closeSurplus()
    deliverFacts()
  }

  private func deliverFacts() { context.deliverFacts(deliver) }

  /// Carries out a transfer's actions until the next one is to wait.
  private func perform(_ action: TransferAction, _ transfer: Transfer) {
    var action = action
    while true {
      switch action {
      case .wait: return
      case .proceed: action = transfer.machine.lifecycle.step(hasDelivery: transfer.caching.delivery != nil)
      case .queue: return context.enqueue(transfer)
      case .send: action = sender.send(transfer)
      case .sendNext(let request, let connectsFirst):
        action = sender.sendNext(transfer, request, connectsFirst: connectsFirst)
      case .sendWithoutCache:
        transfer.machine.lifecycle.sendWithoutCache(transfer.request)
        action = .sendNext(transfer.request)
      case .askForBody: return sender.askForBody(transfer)
      case .waitForNetwork: return connectivity.wait(transfer)
      case .leaveQueue: return context.leaveQueue(transfer.task)
      case .applyFlow: return transfer.applyFlow()
      case .deliver: action = serving.deliver(transfer)
      case .serve(let stored): action = serving.answer(transfer, from: stored)
      case .serveInstead(let stored): action = keeping.answerInstead(transfer, stored)
      case .join(let candidate, let error): action = keeping.join(transfer, candidate, error)
      case .settle(let error): action = endings.settle(transfer, error)
      case .finish(let error, let keepsPartial):
        action = endings.finish(transfer, with: error, keepsPartial: keepsPartial)
      case .abort(let error, let keepsPartial):
        action = endings.abort(transfer, error, keepsPartial: keepsPartial)
      case .conclude: return endings.conclude(transfer)
      }
    }
  }

  private func handle(_ command: TransferLoopMailbox.Command) {
    switch command {
    case .submit(let jobs): for job in jobs { submit(job) }
    case .fail(let jobs):
      let error = TransferError(
        .resourceUnavailable, "the cookies and credentials of the session cannot be read")
      for job in jobs { endings.end(job, with: error) }
    case .command(let command, let task): perform(command, on: task)
    case .drained(let task):
      context.resume(task, bytes.partsStored)
      context.resume(task, bytes.roomDownstream)
    case .uploadReady(let task):
      if let transfer = context.transfer(task) { flow.release(transfer, send: .source) }
    case .stored(let task, let result): context.resume(task) { endings.stored($0, result) }
    case .opened(let task, let opened): context.resume(task) { files.opened($0, opened) }
    case .parsed(let session, let roots): files.parsed(roots, of: session)
    case .resume(let task, let next): context.resume(task, next)
    case .run(let action): action()
    case .linked(let task, let body):
      guard context.transfer(task) != nil else { body?.discard(); return }
      context.resume(task) { serving.linked($0, body) }
    case .received(let key, let task, let body, let bodies):
      guard context.transfer(task) != nil else { return files.remove(key, in: bodies) }
      context.resume(task) { keeping.received($0, body) }
    case .token(let task, let side, let token): context.resume(task) { challenges.tokenMade($0, side, token) }
    case .networkChanged(let hasLost):
      // An idle connection does not notice that its network is gone, so a request on it would time out.
      if hasLost { context.sessions.retireConnections() }
      connectivity.networkChanged()
    case .replaceRoots(let roots): context.sessions.replaceRoots(roots)
    case .noteLoaded(let session): context.sessions.noteLoaded(session)
    case .forgetCredentials(let session, let spaces):
      context.sessions[session]?.forgetCredentials(for: spaces)
    case .reset(let session, let done):
      context.sessions[session]?.reset()
      done()
    case .flush(let session, let done):
      context.sessions[session]?.retireConnections()
      flush(session)
      done()
    case .forget(let session): forget(session)
    case .stop(let done): stop(done)
    }
  }

  /// Reports a session's facts at once.
  private func flush(_ id: SessionID) {
    for transfer in context.transfers.values where transfer.job.session == id {
      context.reportFacts(transfer)
    }
    deliverFacts()
  }

  // MARK: Commands

  private func perform(_ command: TaskCommand, on task: TaskID) {
    switch command {
    case .suspend: suspend(task)
    case .resume: resume(task)
    case .cancel(let keepsPartial): cancel(task, keepsPartial)
    case .setPriority(let priority):
      context.transfer(task)?.job.priority = priority
      context.queue.setPriority(priority, of: task)
    case .setLimit(let rate):
      context.queue.setRate(rate, of: task)
      if let transfer = context.transfer(task) { flow.setLimit(rate, of: transfer) }
    case .changeRequest: break  // The next attempt has the request.
    case .retryNow: break  // An engine's attempt does not wait for the next one.
    case .setBeginDate: break  // The engine receives a task only when its begin date has passed.
    case .answer(let answer, let question):
      let transfer = context.transfer(task)
      let next = decisions.answer(transfer, question, answer)
      if let transfer { perform(next, transfer) }
    }
  }

  // MARK: Queueing

  private func submit(_ job: TransferJob) {
    guard !isStopped else { return }
    if let fault = job.fault ?? job.request.bodyFault { return endings.end(job, with: fault) }
    let url: CurlURL
    do throws(CurlURL.Fault) {
      url = try CurlURL(job.request.url)
    } catch {
      return endings.end(job, with: TransferError(.badURL, "bad URL", failingURL: job.request.url))
    }
    if job.request.body?.isStream == true {
      // Asks for the body before the task queues, so that no slot is held for a client that has yet to send.
      let transfer = open(job, url)
      transfer.connectsBeforeBody = job.mayBeChallenged(at: url, job.request)
      return perform(transfer.connectsBeforeBody ? .queue : .askForBody, transfer)
    }
    let policy = job.request.cachePolicy ?? job.configuration.requestCachePolicy
    let session = ["GET", "HEAD"].contains(job.request.method) ? context.sessions.session(of: job) : nil
    if policy == .returnCacheDataDontLoad || session?.cache?.mayHave(url.text) == true {
      // The cache may answer without a slot.
      let transfer = open(job, url)
      return perform(serving.answer(transfer) ?? .queue, transfer)
    }
    let limit =
      context.sessions[job.session]?.requestsAtOnce(to: url.origin)
      ?? job.configuration.httpMaximumConnectionsPerHost
    context.submit(job, url, limit: limit)
  }

  /// Sends the requests of the tasks that have a slot. A task that the cache answers ends at once and frees its slot for the next.
  private func beginReady() {
    while !isStopped, context.hasReady {
      guard context.settings.mayBegin() else { return beginLater() }
      guard let task = context.takeReady() else { return }
      if let (job, url) = context.queue.dequeue(task) {
        perform(.send, open(job, url))
      } else if let transfer = context.transfer(task), transfer.state.isQueued {
        perform(.send, transfer)
      }
    }
  }

  private func beginLater() {
    guard !beginsLater else { return }
    beginsLater = true
    // The next tick begins the waiting tasks.
    loop.schedule(at: .now + Self.pause) { [weak self] in self?.beginsLater = false }
  }

  /// Creates the transfer of a job.
  private func open(_ job: TransferJob, _ url: CurlURL) -> Transfer {
    let session = context.sessions.session(of: job)
    let transfer = Transfer(job: job, url: url, session: session, context: context, receiver: self)
    context.add(transfer)
    housekeeping.start()
    transfer.beginFetch()
    return transfer
  }

  private func suspend(_ task: TaskID) {
    if context.queue.suspend(task) { context.leaveQueue(task) } else { context.resume(task, flow.suspend) }
  }

  private func resume(_ task: TaskID) {
    if let job = context.queue.resume(task) { submit(job) } else { context.resume(task, flow.resume) }
  }

  private func cancel(_ task: TaskID, _ keepsPartial: Bool) {
    let error = TransferError(.cancelled, "cancelled")
    if let job = context.queue.drop(task) {
      context.leaveQueue(task)
      endings.end(job, with: error)
      context.sessions.noteIdle(job.session)
    } else {
      context.resume(task) { endings.cancel($0, error, keepsPartial: keepsPartial) }
    }
  }

  // MARK: Ends

  /// Ends a session and cancels its running transfers.
  private func forget(_ id: SessionID) {
    guard let session = context.sessions.remove(id) else { return }
    for transfer in Array(context.transfers.values) where transfer.session === session {
      perform(.abort(TransferError(.cancelled, "the session is invalid"), keepsPartial: false), transfer)
    }
    context.sessions.close(session)
  }

  private func stop(_ done: @escaping @Sendable () -> Void) {
    isStopped = true
    for transfer in context.transfers.values { transfer.source?.cancel() }
    context.sessions.closeAll()
    context.forgetAll()
    wire.close()
    done()
  }
}

extension TransferLoop: TransferCallbacks {
  func received(header line: UnsafeRawBufferPointer, by transfer: Transfer) -> Bool {
    heads.received(line, by: transfer)
  }

  func received(body bytes: UnsafeRawBufferPointer, by transfer: Transfer) -> BodyDisposition {
    self.bytes.received(bytes, by: transfer)
  }

  func readBody(of transfer: Transfer, into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    bytes.read(of: transfer, into: buffer)
  }
}
