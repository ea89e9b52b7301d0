internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// What an answer means for the session's cache, and what goes there.
final class CacheKeeping: @unchecked Sendable {
  // Unchecked: it belongs to the loop's thread.
  private let context: TransferContext
  private let wire: TransferWire
  private let files: TransferFiles
  private let delivery: ResponseDelivery

  init(
    _ context: TransferContext, _ wire: TransferWire, _ files: TransferFiles, _ delivery: ResponseDelivery
  ) {
    self.context = context
    self.wire = wire
    self.files = files
    self.delivery = delivery
  }

  // MARK: Heads

  /// Changes what is stored by what an answer says of it. False where the answer is not its task's.
  func passes(_ head: ResponseHead, _ transfer: Transfer) -> Bool {
    guard let store = transfer.session.cache else { return true }
    let cacheHead = cacheHead(head, of: transfer)
    let freshens = transfer.request.method == "HEAD" ? transfer.machine.cache?.request : nil
    CacheUpkeep(store: store, url: transfer.url).heed(
      cacheHead, to: transfer.request.method, freshening: freshens)
    let hearing = transfer.machine.hear(cacheHead, at: context.settings.now())
    carryOut(hearing, transfer)
    return hearing.passesAnswer
  }

  private func carryOut(_ hearing: CacheUse.Hearing, _ transfer: Transfer) {
    let cache = transfer.session.cache
    switch hearing {
    case .pass: break
    case .replaced(let stored): cache?.remove(stored)
    case .incomplete: transfer.machine.cache?.candidate = nil
    case .rest: transfer.sink = delivery.makeFurtherSink(transfer)
    case .mismatched(let stored):
      cache?.remove(stored)
      transfer.machine.course.sendWithoutCache(transfer.request)
      transfer.clock.cutSoon(at: .now)
    case .confirmed(let updated, let isStorable):
      if isStorable { cache?.update(updated) }
      transfer.machine.cache?.answer = updated
    case .stale(let stored):
      transfer.machine.cache?.answer = stored
      transfer.clock.cutSoon(at: .now)
    }
  }

  private func cacheHead(_ head: ResponseHead, of transfer: Transfer) -> CacheResponseHead {
    CacheResponseHead(
      status: head.status, httpVersion: head.httpVersion, headers: head.headers,
      requestTime: transfer.fetchStart, responseTime: transfer.answer.headTime)
  }

  // MARK: After the wire

  /// What is stored answers, and not what the wire brought.
  func answerInstead(_ transfer: Transfer, _ stored: CachedResponse) -> TransferAction {
    context.leaveQueue(transfer.task)
    transfer.machine.cache?.answer = stored
    transfer.forgetAnswer()
    // What was asked for nobody in particular is known now.
    return transfer.job.revalidates == nil ? .serve(stored) : .finish(nil)
  }

  /// The origin takes too long: something stale may do (RFC 5861 §4).
  func timedOut(
    _ transfer: Transfer, _ error: TransferError, at now: ContinuousClock.Instant
  ) -> TransferAction {
    guard now < transfer.clock.resourceDeadline,
      let stored = transfer.machine.answerOnTimeout(
        hasResponse: transfer.response != nil, at: context.settings.now())
    else { return .abort(error) }
    wire.leave(transfer)
    return .serveInstead(stored)
  }

  /// Puts the whole together from what was stored and what came.
  /// - Parameter error: how the wire ended.
  func join(_ transfer: Transfer, _ candidate: CachedResponse, _ error: TransferError?) -> TransferAction {
    context.leaveQueue(transfer.task)
    transfer.machine.cache?.failure = error
    guard let sink = transfer.sink, let whole = joined(candidate, size: sink.size, of: transfer) else {
      return restart(transfer)
    }
    transfer.machine.course.wait(for: .cache)
    let (task, key, bodies) = (transfer.task, transfer.key(.body), transfer.session.bodies)
    sink.finish(as: key) { [mailbox = context.mailbox] stored in
      mailbox.post(.received(key, task, stored, bodies))
    }
    transfer.caching.combining = whole
    return .wait
  }

  /// What is stored, and so many bytes that came.
  private func joined(_ held: CachedResponse, size: Int64, of transfer: Transfer) -> PartialContent? {
    guard let use = transfer.machine.cache, let head = transfer.answer.head else { return nil }
    return PartialContent(held, with: cacheHead(head, of: transfer), size: size, request: use.request)
  }

  /// What came is at hand: it is joined to what was stored.
  func received(_ transfer: Transfer, _ stored: BodySink.Stored) -> TransferAction {
    guard isJoining(transfer), let whole = transfer.caching.combining else { return .wait }
    guard let use = transfer.machine.cache, let candidate = use.candidate, let cache = transfer.session.cache,
      case .success(let received) = stored
    else { return restart(transfer) }
    let task = transfer.task
    let body = cacheBody(received.body, of: transfer)
    cache.combine(whole, candidate, body) { [weak self] response in
      self?.combined(task, response, use.failure)
    }
    return .wait
  }

  /// - Parameter failure: how the wire ended.
  private func combined(_ task: TaskID, _ response: CachedResponse?, _ failure: TransferError?) {
    guard let transfer = context.transfer(task), isJoining(transfer) else { return }
    removeReceived(of: transfer) { transfer in
      guard let response, response.isComplete || failure != nil else { return .sendWithoutCache }
      transfer.forgetAnswer()
      // The cache keeps the received part for the next request.
      return response.isComplete ? .serve(response) : .finish(failure)
    }
  }

  /// What came is being put together with what was stored.
  private func isJoining(_ transfer: Transfer) -> Bool {
    transfer.state.isParked && transfer.caching.combining != nil
  }

  private func restart(_ transfer: Transfer) -> TransferAction {
    removeReceived(of: transfer) { _ in .sendWithoutCache }
    return .wait
  }

  /// Removes what came in the place of a whole, and goes on where the transfer is still there: its name is needed again.
  private func removeReceived(
    of transfer: Transfer, then next: @escaping @Sendable (Transfer) -> TransferAction
  ) {
    transfer.caching.combining = nil
    transfer.machine.course.wait(for: .cache)
    let goesOn = WorkerMailbox.Command.goOn(transfer.task) { transfer in
      guard transfer.state.isParked, transfer.machine.course.stopWaiting(for: .cache) else { return .wait }
      return next(transfer)
    }
    files.remove(transfer.key(.body), in: transfer.session.bodies, then: goesOn)
  }

  // MARK: Storing

  /// The answer as the cache would have it; nil where nothing of it is stored.
  func storable(_ transfer: Transfer) -> StorableAnswer? {
    guard let store = transfer.session.cache, let use = transfer.machine.cache,
      let head = transfer.answer.head,
      transfer.answer.multipart == nil, transfer.job.kind == .data, transfer.request.method == "GET"
    else { return nil }
    var answer = StorableAnswer(store: store, request: use.request, head: cacheHead(head, of: transfer))
    answer.fields = transfer.caching.storedHeaders
    answer.isAnonymous = transfer.machine.authenticator.isAnonymous
    answer.isOfWhoAsks = isOfWhoAsks(transfer)
    answer.dependsOnCookie = transfer.request.headers.contains("Cookie")
    return answer
  }

  /// What the answer was given for is in the request, or is what the session says to that origin from now on: the next who
  /// asks is no other.
  private func isOfWhoAsks(_ transfer: Transfer) -> Bool {
    guard let attempt = transfer.machine.authenticator.attempt(.server), transfer.request.credential == nil,
      !transfer.request.headers.contains("Authorization"), let credential = attempt.credential
    else { return true }
    return credential.isSame(as: transfer.login.credential(for: attempt.space))
  }

  /// What becomes of an answer that is whole, before its task ends.
  enum Verdict {
    /// It is not stored, or it is clear already whether it is.
    case settled
    /// The delegate is told.
    case tell(TransferResponse, size: Int64)
    case ask(TransferResponse)
  }

  /// - Parameter error: how the wire ended.
  func verdict(on transfer: Transfer, _ error: TransferError?) -> Verdict {
    let asks = transfer.job.asksForCaching
    guard error == nil, transfer.caching.delivery == nil, transfer.caching.storagePolicy == nil,
      let size = transfer.sink?.size, let response = transfer.response,
      storable(transfer)?.response(size: size, sha256: "", isComplete: true, isAsked: asks) != nil
    else { return .settled }
    return asks ? .ask(response) : .tell(response, size: size)
  }

  /// Asks the delegate whether the answer may be stored, before the task ends.
  func askAboutCaching(_ transfer: Transfer, _ response: TransferResponse) {
    transfer.machine.course.endWire(nil)
    transfer.machine.course.wait(for: .caching)
    // Those who read along get all of it before they are asked.
    transfer.sink?.flushSlow(transfer.drained)
    context.leaveQueue(transfer.task)
    transfer.ask(.caching(response, size: transfer.sink?.size ?? 0))
    context.tell(transfer)
  }

  /// Stores an answer whose body, or what came of it, is at hand.
  func keep(_ transfer: Transfer, _ body: TransferOutcome.Body, sha256: String, isComplete: Bool) {
    // Nobody will ask for these bodies: they go when the cache has them.
    let isOnlyForCache = transfer.caching.keepsForCache || transfer.job.revalidates != nil
    let (bodies, key) = (transfer.session.bodies, transfer.key(.body))
    let policy = isComplete ? transfer.job.revalidates?.policy ?? transfer.caching.storagePolicy : .allowed
    guard let policy, context.sessions[transfer.job.session] === transfer.session, policy != .notAllowed,
      transfer.caching.delivery == nil, let size = transfer.sink?.size,
      let answer = storable(transfer),
      let response = answer.response(size: size, sha256: sha256, isComplete: isComplete)
    else {
      if isOnlyForCache { files.remove(key, in: bodies) }
      return
    }
    let done: @Sendable (Bool) -> Void = { [pool = context.settings.pool] _ in
      if isOnlyForCache { pool.submit { bodies.startDeleting([key]) } }
    }
    let body = cacheBody(body, of: transfer)
    if let held = answer.heldVersion(of: response) {
      // What is there of the same version stays, and becomes more by a part that fits.
      if held.isComplete { return done(false) }
      if let more = joined(held, size: size, of: transfer) {
        transfer.session.cache?.join(
          more, held, body, memoryOnly: policy == .allowedInMemoryOnly, done: done)
        return
      }
    }
    transfer.session.cache?.store(
      response, body, memoryOnly: policy == .allowedInMemoryOnly, done: done)
  }

  func cacheBody(_ body: TransferOutcome.Body, of transfer: Transfer) -> SessionCache.Body {
    switch body {
    case .memory(let bytes): .bytes(bytes)
    case .file: .blob(transfer.session.bodies, transfer.key(.body))
    }
  }
}
