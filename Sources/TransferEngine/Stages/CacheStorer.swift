internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// The stage that stores responses in the session's cache.
final class CacheStorer: @unchecked Sendable {
  // Unchecked: used only on the loop's thread.
  private let context: TransferContext
  private let wire: EasyHandleAttachment
  private let files: TransferFileLoader
  private let delivery: ResponseDelivery

  init(
    _ context: TransferContext, _ wire: EasyHandleAttachment, _ files: TransferFileLoader,
    _ delivery: ResponseDelivery
  ) {
    self.context = context
    self.wire = wire
    self.files = files
    self.delivery = delivery
  }

  // MARK: Heads

  /// Applies a response to the session's cache. Returns `false` if the response must not reach the task.
  func passes(_ head: ResponseHead, _ transfer: Transfer) -> Bool {
    guard let store = transfer.session.cache else { return true }
    let cacheHead = cacheHead(head, of: transfer)
    let freshens = transfer.request.method == "HEAD" ? transfer.machine.cache?.request : nil
    CacheUpdater(store: store, url: transfer.url).update(
      cacheHead, to: transfer.request.method, freshening: freshens)
    let headEffect = transfer.machine.hear(cacheHead, at: context.settings.now())
    carryOut(headEffect, transfer)
    return headEffect.passesAnswer
  }

  private func carryOut(_ headEffect: CacheTransaction.HeadEffect, _ transfer: Transfer) {
    let cache = transfer.session.cache
    switch headEffect {
    case .pass: break
    case .replaced(let stored): cache?.remove(stored)
    case .incomplete: transfer.machine.cache?.candidate = nil
    case .rest: transfer.sink = delivery.makeFurtherSink(transfer)
    case .mismatched(let stored):
      cache?.remove(stored)
      transfer.machine.lifecycle.sendWithoutCache(transfer.request)
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
      requestTime: transfer.fetchStart, responseTime: transfer.received.headTime)
  }

  // MARK: After the wire

  /// Answers with a cached response in place of the received one.
  func answerInstead(_ transfer: Transfer, _ stored: CachedResponse) -> TransferAction {
    context.leaveQueue(transfer.task)
    transfer.machine.cache?.answer = stored
    transfer.discardResponse()
    // A background revalidation ends here.
    return transfer.job.revalidates == nil ? .serve(stored) : .finish(nil)
  }

  /// Handles a timeout: serves a stale response if that is allowed (RFC 5861 §4).
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

  /// Combines a cached part with the received part.
  /// - Parameter error: The error with which the request ended on the wire.
  func join(_ transfer: Transfer, _ candidate: CachedResponse, _ error: TransferError?) -> TransferAction {
    context.leaveQueue(transfer.task)
    transfer.machine.cache?.failure = error
    guard let sink = transfer.sink, let whole = joined(candidate, size: sink.size, of: transfer) else {
      return restart(transfer)
    }
    transfer.machine.lifecycle.wait(for: .cache)
    let (task, key, bodies) = (transfer.task, transfer.key(.body), transfer.session.bodies)
    sink.finish(as: key) { [mailbox = context.mailbox] stored in
      mailbox.post(.received(key, task, stored, bodies))
    }
    transfer.caching.combining = whole
    return .wait
  }

  /// Returns the cached part, continued by this many received bytes; `nil` if they do not fit together.
  private func joined(_ held: CachedResponse, size: Int64, of transfer: Transfer) -> PartialContent? {
    guard let use = transfer.machine.cache, let head = transfer.received.head else { return nil }
    return PartialContent(held, with: cacheHead(head, of: transfer), size: size, request: use.request)
  }

  /// Combines the received part, which is now stored, with the cached part.
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

  /// - Parameter failure: The error with which the request ended on the wire.
  private func combined(_ task: TaskID, _ response: CachedResponse?, _ failure: TransferError?) {
    guard let transfer = context.transfer(task), isJoining(transfer) else { return }
    removeReceived(of: transfer) { transfer in
      guard let response, response.isComplete || failure != nil else { return .sendWithoutCache }
      transfer.discardResponse()
      // The cache keeps the received part for the next request.
      return response.isComplete ? .serve(response) : .finish(failure)
    }
  }

  /// Returns whether the received part is being combined with the cached part.
  private func isJoining(_ transfer: Transfer) -> Bool {
    transfer.state.isParked && transfer.caching.combining != nil
  }

  private func restart(_ transfer: Transfer) -> TransferAction {
    removeReceived(of: transfer) { _ in .sendWithoutCache }
    return .wait
  }

  /// Deletes the received part, then performs the next action if the transfer still exists. The next body needs the same key.
  private func removeReceived(
    of transfer: Transfer, then next: @escaping @Sendable (Transfer) -> TransferAction
  ) {
    transfer.caching.combining = nil
    transfer.machine.lifecycle.wait(for: .cache)
    let goesOn = TransferLoopMailbox.Command.resume(transfer.task) { transfer in
      guard transfer.state.isParked, transfer.machine.lifecycle.stopWaiting(for: .cache) else { return .wait }
      return next(transfer)
    }
    files.remove(transfer.key(.body), in: transfer.session.bodies, then: goesOn)
  }

  // MARK: Storing

  /// Returns the response in the form that the cache stores; `nil` if it cannot be stored.
  func storable(_ transfer: Transfer) -> StorableResponse? {
    guard let store = transfer.session.cache, let use = transfer.machine.cache,
      let head = transfer.received.head, transfer.job.retry?.retries(status: head.status) != true,
      transfer.received.multipart == nil, transfer.job.kind == .data, transfer.request.method == "GET"
    else { return nil }
    var answer = StorableResponse(store: store, request: use.request, head: cacheHead(head, of: transfer))
    answer.fields = transfer.caching.storedHeaders
    answer.isAnonymous = transfer.machine.authenticator.isAnonymous
    answer.matchesLaterCredential = matchesLaterCredential(transfer)
    answer.dependsOnCookie = transfer.request.headers.contains("Cookie")
    return answer
  }

  /// Returns whether the credential is in the request, or is the one that the session's later requests to this origin will have.
  private func matchesLaterCredential(_ transfer: Transfer) -> Bool {
    guard let attempt = transfer.machine.authenticator.attempt(.server), transfer.request.credential == nil,
      !transfer.request.headers.contains("Authorization"), let credential = attempt.credential
    else { return true }
    return credential.isSame(as: transfer.login.credential(for: attempt.space))
  }

  /// The cache-related call that a complete response needs before its task ends.
  enum WillCacheCall {
    /// No call is needed: the response is not stored, or the policy is known.
    case settled
    /// The delegate is notified.
    case notify(TransferResponse, size: Int64)
    case ask(TransferResponse)
  }

  /// - Parameter error: The error with which the request ended on the wire.
  func willCacheCall(on transfer: Transfer, _ error: TransferError?) -> WillCacheCall {
    let asks = transfer.job.asksForCaching
    guard error == nil, transfer.caching.delivery == nil, transfer.caching.storagePolicy == nil,
      let size = transfer.sink?.size, let response = transfer.response,
      storable(transfer)?.response(size: size, sha256: "", isComplete: true, isAsked: asks) != nil
    else { return .settled }
    return asks ? .ask(response) : .notify(response, size: size)
  }

  /// Asks the delegate whether the response may be stored, before the task ends.
  func askAboutCaching(_ transfer: Transfer, _ response: TransferResponse) {
    transfer.machine.lifecycle.endWire(nil)
    transfer.machine.lifecycle.wait(for: .caching)
    // Readers of the live body receive all of it before the delegate decides.
    transfer.sink?.flushPartialChunk(transfer.drained)
    context.leaveQueue(transfer.task)
    transfer.ask(.caching(response, size: transfer.sink?.size ?? 0))
    context.reportFacts(transfer)
  }

  /// Stores a complete or partial response whose body is available.
  func keep(_ transfer: Transfer, _ body: TransferOutcome.Body, sha256: String, isComplete: Bool) {
    // No client reads these bodies, so they are deleted when the cache has them.
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
      // A stored part of the same version stays, and the received part is joined to it if it fits.
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
