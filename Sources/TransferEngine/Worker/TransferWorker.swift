internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPCache
internal import TransferModel

/// Carries tasks out on one event loop. A session lives on one worker, with a multi handle of its own: connections,
/// TLS sessions and limits are private to it, and a connection that is used again never skips a check that another
/// session's would have failed.
///
/// Commands come through a mailbox and are taken once a tick; what happened goes up once a tick, as one batch.
/// Each stage has one job, uses only the stages below it, and returns the next `TransferAction`, which `perform` carries out.
final class TransferWorker: @unchecked Sendable {
  // Unchecked: what is not the context belongs to the loop's thread.
  let context: TransferContext
  private let deliver: @Sendable ([TransferFact]) -> Void

  // The stages, from the lowest. `RequestCompletion` comes before `sender`, which has it.
  private let wire: TransferWire
  private let files: TransferFiles
  private let delivery: ResponseDelivery
  private let flow: TransferFlow
  private let handshakes: TransferHandshakes
  private let challenges: TransferChallenges
  private let serving: CacheServing
  private let keeping: CacheKeeping
  private let heads: HeadReceiver
  private let bytes: ByteReceiver
  private let connectivity: ConnectivityWaiters
  private let sender: RequestSender
  private let decisions: TransferDecisions
  private let endings: TransferEndings
  private let housekeeping: Housekeeping

  /// How soon it is seen again whether requests may go out.
  private static let pause = Duration.milliseconds(50)
  private var beginsLater = false
  private var isStopped = false

  init(
    loop: EventLoop, settings: EngineSettings, roots: TLSRoots,
    deliver: @escaping @Sendable ([TransferFact]) -> Void
  ) {
    self.deliver = deliver
    context = TransferContext(loop: loop, settings: settings, roots: roots)
    wire = TransferWire(context)
    files = TransferFiles(context)
    delivery = ResponseDelivery(context)
    flow = TransferFlow(context)
    handshakes = TransferHandshakes(context, wire)
    challenges = TransferChallenges(context, wire, delivery)
    serving = CacheServing(context, delivery)
    keeping = CacheKeeping(context, wire, files, delivery)
    heads = HeadReceiver(context, keeping, challenges, delivery)
    bytes = ByteReceiver(context, heads, delivery, flow)
    connectivity = ConnectivityWaiters(context)
    let completion = RequestCompletion(context, wire, heads, bytes, challenges, connectivity)
    sender = RequestSender(
      context, wire, serving, challenges, handshakes, files, completed: completion.completed)
    decisions = TransferDecisions(context, delivery, challenges, handshakes, bytes)
    endings = TransferEndings(context, wire, files, keeping)
    housekeeping = Housekeeping(context, wire, sender, keeping)
  }

  // MARK: From any thread

  var loop: EventLoop { context.loop }
  var mailbox: WorkerMailbox { context.mailbox }
  func liveBody(of task: TaskID) -> LiveBody? { context.liveBody(of: task) }

  /// Begins to serve the loop; before the loop starts.
  func attach() {
    loop.atEndOfTick { [weak self] in self?.tick() }
    context.perform = { [weak self] in self?.perform($0, $1) }
    context.sessions.hasJob = { [weak context] in context?.queue.hasJob(of: $0) ?? false }
    context.sessions.deliverFacts = { [weak self] in self?.deliverFacts() }
  }

  // MARK: On the loop

  private func tick() {
    for command in mailbox.take() { handle(command) }
    beginReady()
    context.sessions.closeSurplus()
    deliverFacts()
  }

  private func deliverFacts() { context.deliverFacts(deliver) }

  /// Carries out what follows for a transfer, until nothing follows at once.
  private func perform(_ action: TransferAction, _ transfer: Transfer) {
    var action = action
    while true {
      switch action {
      case .wait: return
      case .proceed: action = transfer.machine.course.step(hasDelivery: transfer.caching.delivery != nil)
      case .queue: return context.enqueue(transfer)
      case .send: action = sender.send(transfer)
      case .sendNext(let request, let connectsFirst):
        action = sender.sendNext(transfer, request, connectsFirst: connectsFirst)
      case .sendWithoutCache:
        transfer.machine.course.sendWithoutCache(transfer.request)
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

  private func handle(_ command: WorkerMailbox.Command) {
    switch command {
    case .submit(let jobs): for job in jobs { submit(job) }
    case .fail(let jobs):
      let error = TransferError(
        .resourceUnavailable, "the cookies and credentials of the session cannot be read")
      for job in jobs { endings.end(job, with: error) }
    case .command(let command, let task): perform(command, on: task)
    case .drained(let task):
      context.goOn(task, bytes.partsStored)
      context.goOn(task, bytes.roomDownstream)
    case .uploadReady(let task):
      if let transfer = context.transfer(task) { flow.release(transfer, send: .source) }
    case .stored(let task, let result): context.goOn(task) { endings.stored($0, result) }
    case .opened(let task, let opened): context.goOn(task) { files.opened($0, opened) }
    case .parsed(let session, let roots): files.parsed(roots, of: session)
    case .goOn(let task, let next): context.goOn(task, next)
    case .run(let action): action()
    case .linked(let task, let body):
      guard context.transfer(task) != nil else { body?.discard(); return }
      context.goOn(task) { serving.linked($0, body) }
    case .received(let key, let task, let body, let bodies):
      guard context.transfer(task) != nil else { return files.remove(key, in: bodies) }
      context.goOn(task) { keeping.received($0, body) }
    case .token(let task, let side, let token): context.goOn(task) { challenges.tokenMade($0, side, token) }
    case .networkChanged(let hasLost):
      // Nobody tells an idle connection that its network is gone: a request on it would be sent nowhere.
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

  /// Tells what has happened in a session, at once.
  private func flush(_ id: SessionID) {
    for transfer in context.transfers.values where transfer.job.session == id { context.tell(transfer) }
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
    case .setBeginDate: break  // The engine gets tasks when their date has come.
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
      // Asked for before it queues: a slot is not held for a client that has yet to send.
      let transfer = open(job, url)
      transfer.connectsFirst = job.mayBeChallenged(at: url, job.request)
      return perform(transfer.connectsFirst ? .queue : .askForBody, transfer)
    }
    let policy = job.request.cachePolicy ?? job.configuration.requestCachePolicy
    let session = ["GET", "HEAD"].contains(job.request.method) ? context.sessions.session(of: job) : nil
    if policy == .returnCacheDataDontLoad || session?.cache?.mayHave(url.text) == true {
      // It may never have to wait for its turn.
      let transfer = open(job, url)
      return perform(serving.answer(transfer) ?? .queue, transfer)
    }
    let limit =
      context.sessions[job.session]?.requestsAtOnce(to: url.origin)
      ?? job.configuration.httpMaximumConnectionsPerHost
    context.submit(job, url, limit: limit)
  }

  /// Sends the requests of the tasks whose turn has come. One that the cache answers ends at once, and lets the next begin.
  private func beginReady() {
    while !isStopped, context.hasReady {
      guard context.settings.mayBegin() else { return beginLater() }
      guard let task = context.takeReady() else { return }
      if let (job, url) = context.queue.take(task) {
        perform(.send, open(job, url))
      } else if let transfer = context.transfer(task), transfer.state.isQueued {
        perform(.send, transfer)
      }
    }
  }

  private func beginLater() {
    guard !beginsLater else { return }
    beginsLater = true
    // The tick that follows begins them.
    loop.schedule(at: .now + Self.pause) { [weak self] in self?.beginsLater = false }
  }

  /// Gives a job its place among the transfers.
  private func open(_ job: TransferJob, _ url: CurlURL) -> Transfer {
    let session = context.sessions.session(of: job)
    let transfer = Transfer(job: job, url: url, session: session, context: context, receiver: self)
    context.add(transfer)
    housekeeping.start()
    transfer.beginFetch()
    return transfer
  }

  private func suspend(_ task: TaskID) {
    if context.queue.suspend(task) { context.leaveQueue(task) } else { context.goOn(task, flow.suspend) }
  }

  private func resume(_ task: TaskID) {
    if let job = context.queue.resume(task) { submit(job) } else { context.goOn(task, flow.resume) }
  }

  private func cancel(_ task: TaskID, _ keepsPartial: Bool) {
    let error = TransferError(.cancelled, "cancelled")
    if let job = context.queue.drop(task) {
      context.leaveQueue(task)
      endings.end(job, with: error)
      context.sessions.noteIdle(job.session)
    } else {
      context.goOn(task) { endings.cancel($0, error, keepsPartial: keepsPartial) }
    }
  }

  // MARK: Ends

  /// A session is over, and what still runs for it is nobody's task.
  private func forget(_ id: SessionID) {
    guard let session = context.sessions.remove(id) else { return }
    for transfer in Array(context.transfers.values) where transfer.session === session {
      perform(.abort(TransferError(.cancelled, "the session is over"), keepsPartial: false), transfer)
    }
    context.sessions.close(session)
  }

  private func stop(_ done: @escaping @Sendable () -> Void) {
    isStopped = true
    for transfer in context.transfers.values { transfer.source?.detach() }
    context.sessions.closeAll()
    context.forgetAll()
    wire.close()
    done()
  }
}

extension TransferWorker: TransferReceiver {
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
