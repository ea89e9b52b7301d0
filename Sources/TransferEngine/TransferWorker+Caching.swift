internal import Curl
internal import EventLoop
internal import HTTPCache
internal import TransferModel

/// What an answer means for the session's cache, and what goes there.
extension TransferWorker {
  // MARK: After the wire

  /// The wire is done with a request that something stored answers, or is completed by. True where that is so.
  func isAnsweredByCache(_ transfer: Transfer, _ error: TransferError?) -> Bool {
    guard let use = transfer.cache, transfer.next == nil else { return false }
    if let answer = use.answer {
      leaveQueue(transfer.task)
      transfer.forgetAnswer()
      if transfer.job.revalidates != nil {
        finish(transfer, with: nil)
      } else if !self.answer(transfer, from: answer) {
        transfer.resendWithoutCache()
        sendNext(transfer, transfer.request)
      }
      return true
    }
    if use.completesCandidate, use.candidate != nil, transfer.head?.status == 206 {
      leaveQueue(transfer.task)
      transfer.cache?.failure = error
      complete(transfer)
      return true
    }
    // Nothing came, or not all: something stale may do.
    guard error?.isOfNetwork == true, transfer.response == nil, transfer.mayAnswerOnError(status: nil) else {
      return false
    }
    return isAnsweredByCache(transfer, error)
  }

  /// The origin takes too long: something stale may do (RFC 5861 §4). True where that is so.
  func isAnsweredInstead(
    _ transfer: Transfer, _ timeout: TransferError, at now: ContinuousClock.Instant
  ) -> Bool {
    guard transfer.stage == .onWire, transfer.response == nil, now < transfer.resourceDeadline,
      transfer.cache?.answer != nil || transfer.mayAnswerOnError(status: nil)
    else { return false }
    leaveWire(transfer)
    return isAnsweredByCache(transfer, timeout)
  }

  /// Puts the whole together from what was stored and what came.
  private func complete(_ transfer: Transfer) {
    guard let candidate = transfer.cache?.candidate, let sink = transfer.sink,
      let whole = transfer.joined(candidate, size: sink.size)
    else { return restart(transfer) }
    transfer.stage = .parked
    transfer.hold = .cache
    let (task, bodies) = (transfer.task, transfer.session.bodies)
    sink.finish(as: bodies.path(task)) { [weak self] stored in
      self?.post(.received(task, stored, bodies))
    }
    transfer.combining = whole
  }

  /// What came is at hand: it is joined to what was stored.
  func received(_ transfer: Transfer, _ stored: BodySink.Stored) {
    guard transfer.isJoining, let whole = transfer.combining else { return }
    guard let use = transfer.cache, let candidate = use.candidate, let cache = transfer.session.cache,
      case .success(let received) = stored
    else { return restart(transfer) }
    let task = transfer.task
    let body = cacheBody(received.body, of: transfer)
    cache.combine(whole, candidate, body) { [weak self] response in
      guard let self, let transfer = self.transfer(task), transfer.isJoining else { return }
      removeReceived(of: transfer) { worker, transfer in
        guard let response, response.isComplete || use.failure != nil else {
          return worker.resendWithoutCache(transfer)
        }
        transfer.forgetAnswer()
        // What came is kept for the next time.
        guard response.isComplete else { return worker.finish(transfer, with: use.failure) }
        if !worker.answer(transfer, from: response) { worker.resendWithoutCache(transfer) }
      }
    }
  }

  private func restart(_ transfer: Transfer) {
    removeReceived(of: transfer) { worker, transfer in worker.resendWithoutCache(transfer) }
  }

  private func resendWithoutCache(_ transfer: Transfer) {
    transfer.resendWithoutCache()
    sendNext(transfer, transfer.request)
  }

  /// Removes what came in the place of a whole, and goes on where the transfer is still there: its name is needed again.
  private func removeReceived(
    of transfer: Transfer, then: @escaping @Sendable (TransferWorker, Transfer) -> Void
  ) {
    transfer.combining = nil
    (transfer.stage, transfer.hold) = (.parked, .cache)
    let task = transfer.task
    remove(task, in: transfer.session.bodies) { [weak self] in
      guard let self, let transfer = self.transfer(task), transfer.stage == .parked,
        case .cache = transfer.hold
      else { return }
      transfer.hold = nil
      then(self, transfer)
    }
  }

  // MARK: Storing

  /// Whether the delegate has to be asked first, or told, that an answer is about to be stored. True where it is asked.
  func asksAboutCaching(_ transfer: Transfer, _ end: Transfer.WireEnd) -> Bool {
    guard end.error == nil, transfer.delivery == nil, transfer.storagePolicy == nil,
      let sink = transfer.sink, let response = transfer.response,
      transfer.cacheable(
        size: sink.size, sha256: "", isComplete: true, isAsked: transfer.job.asksForCaching) != nil
    else { return false }
    guard transfer.job.asksForCaching else {
      transfer.storagePolicy = .allowed
      transfer.facts.append(.willCache(transfer.task, response, size: sink.size, at: settings.now()))
      return false
    }
    transfer.wireEnd = end
    transfer.hold = .caching
    // Those who read along get all of it before they are asked.
    sink.flushSlow(transfer.drained)
    transfer.stage = .parked
    leaveQueue(transfer.task)
    transfer.ask(.caching(response, size: sink.size))
    facts += transfer.takeFacts()
    loop.wake()
    return true
  }

  /// Stores an answer whose body, or what came of it, is at hand.
  func keep(_ transfer: Transfer, _ body: TransferOutcome.Body, sha256: String, isComplete: Bool) {
    // Nobody will ask for these bodies: they go when the cache has them.
    let isOnlyForCache = transfer.keepsForCache || transfer.job.revalidates != nil
    let (bodies, task) = (transfer.session.bodies, transfer.task)
    let policy = isComplete ? transfer.job.revalidates?.policy ?? transfer.storagePolicy : .allowed
    guard let policy, sessions[transfer.job.session] === transfer.session, policy != .notAllowed,
      transfer.delivery == nil, let size = transfer.sink?.size,
      let response = transfer.cacheable(size: size, sha256: sha256, isComplete: isComplete)
    else {
      if isOnlyForCache { settings.pool.submit { bodies.remove(task) } }
      return
    }
    let done: @Sendable (Bool) -> Void = { [pool = settings.pool] _ in
      if isOnlyForCache { pool.submit { bodies.remove(task) } }
    }
    let body = cacheBody(body, of: transfer)
    if let held = transfer.heldVersion(of: response) {
      // What is there of the same version stays, and becomes more by a part that fits.
      if held.isComplete { return done(false) }
      if let more = transfer.joined(held, size: size) {
        transfer.session.cache?.join(
          more, held, body, memoryOnly: policy == .allowedInMemoryOnly, done: done)
        return
      }
    }
    transfer.session.cache?.store(
      response, body, memoryOnly: policy == .allowedInMemoryOnly, done: done)
  }

  /// Whether what came of an answer that broke off is worth keeping (RFC 9111 §3.3).
  func mayKeepPart(_ transfer: Transfer) -> Bool {
    guard !transfer.job.asksForCaching, transfer.delivery == nil, let size = transfer.sink?.size else {
      return false
    }
    return transfer.cacheable(size: size, sha256: "", isComplete: false) != nil
  }

  func cacheBody(_ body: TransferOutcome.Body, of transfer: Transfer) -> SessionCache.Body {
    switch body {
    case .memory(let bytes): .bytes(bytes)
    case .file: .file(transfer.session.bodies, transfer.task)
    }
  }
}

extension TransferError {
  /// The origin could not be reached, or not to the end.
  var isOfNetwork: Bool {
    switch reason {
    case .url(.timedOut), .url(.cannotFindHost), .url(.cannotConnectToHost), .url(.networkConnectionLost),
      .url(.dnsLookupFailed), .url(.notConnectedToInternet), .url(.badServerResponse):
      true
    default: false
    }
  }
}
