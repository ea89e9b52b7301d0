internal import ContentCoding
internal import Curl
internal import EventLoop
internal import TransferModel

/// How transfers end.
extension TransferWorker {
  /// libcurl is done with a request.
  func completed(_ transfer: Transfer, _ completion: MultiHandle.Completion) {
    let easy = completion.easy
    endHandshake(transfer)
    if let head = transfer.provisionalHead, transfer.head == nil { transfer.takeUp(head) }
    if meetProxy(transfer, completion.result, easy) { return }
    if transfer.connectsFirst, transfer.lacksBody, transfer.isConnected {
      // Its handshake could not be held: the body is asked for all the same, before another try.
      reclaim(transfer, isClean: false)
      return sendNext(transfer, transfer.request)
    }
    let isClean = completion.result == .ok && transfer.head != nil
    var error = transfer.wireEnd?.error
    if isClean, error == nil, transfer.next == nil, transfer.content.isCut {
      error = transfer.contentFailure(.malformed)
    }
    if isClean, error == nil, transfer.next == nil, transfer.multipart != nil, !transfer.finishParts() {
      error = transfer.failure(.ok, easy)
    }
    if !isClean, error == nil, transfer.next == nil { error = transfer.failure(completion.result, easy) }
    if isClean, let source = transfer.source, source.length ?? transfer.sent <= transfer.sent {
      source.wasSent()
    }
    transfer.noteProgress()
    transfer.recordTransaction(easy, isComplete: isClean)
    let easyErrno = easy.info(.osErrno)
    if easy.lacksDescriptor { closeIdleSessions() }
    reclaim(transfer, isClean: isClean)
    if let next = transfer.next { return sendNext(transfer, next) }
    if transfer.waitsForConnectivity(error, completion.result, easyErrno) {
      return waitForConnectivity(transfer)
    }
    if isAnsweredByCache(transfer, error) { return }
    let end = Transfer.WireEnd(result: completion.result, error: error)
    guard transfer.hold == nil else {
      // The delegate has not decided yet: the slot goes to others meanwhile.
      transfer.wireEnd = end
      transfer.stage = .parked
      return leaveQueue(transfer.task)
    }
    settle(transfer, end)
  }

  /// The answer is here, or will not be.
  func settle(_ transfer: Transfer, _ end: Transfer.WireEnd) {
    guard !asksAboutCaching(transfer, end) else { return }
    finish(transfer, with: end.error)
  }

  func cancel(_ transfer: Transfer, _ error: TransferError, keepsPartial: Bool) {
    var error = error
    error.failingURL = transfer.request.url
    guard transfer.stage == .finishing else { return abort(transfer, error, keepsPartial: keepsPartial) }
    // All of it is here, and on its way to the disk: it is dropped once it is there.
    transfer.outcome?.error = error
  }

  func abort(_ transfer: Transfer, _ error: TransferError, keepsPartial: Bool = true) {
    guard transfer.stage != .finishing else { return }
    if case .files = transfer.hold {
      transfer.endsOnceOpened = transfer.endsOnceOpened ?? (error, keepsPartial)
      return
    }
    leaveWire(transfer)
    finish(transfer, with: error, keepsPartial: keepsPartial)
  }

  /// Takes a request off the wire before its end.
  func leaveWire(_ transfer: Transfer) {
    guard transfer.stage == .onWire, let easy = transfer.easy else { return }
    transfer.isLeaving = true
    // libcurl 7.88 leaks what a paused HTTP/2 stream has buffered unless it is offered once more (curl #10971).
    if !transfer.flow.directions.isEmpty { easy.setPaused([]) }
    var isHeld = false
    if let handshake = transfer.hold?.handshake {
      isHeld = true
      endHandshake(transfer)
      handshake.decide(.refuse)
    } else {
      transfer.transport?.remove(easy)
    }
    transfer.recordTransaction(easy, isComplete: false)
    reclaim(transfer, isClean: false)
    transfer.stage = .parked
    if isHeld { transfer.transport?.abandon(easy) }
  }

  /// The wire is done with the task; its body may still be on its way to the disk.
  func finish(_ transfer: Transfer, with error: TransferError?, keepsPartial: Bool = true) {
    reclaim(transfer, isClean: false)
    transfer.noteProgress()
    transfer.source?.detach()
    transfer.stage = .finishing
    let outcome = TransferOutcome(
      error: error, currentRequest: transfer.currentRequest, response: transfer.response,
      progress: transfer.progress, transactions: transfer.transactions, endedAt: settings.now())
    transfer.outcome = outcome
    if error != nil, keepsPartial, let point = transfer.upload?.point {
      transfer.outcome?.partial = .upload(UploadPoint(resource: point.resource, source: transfer.task))
      transfer.outcome?.error?.resumeDataAvailable = true
    }
    guard let sink = transfer.sink else { return conclude(transfer) }
    if error == nil {
      sink.finish(as: transfer.session.bodies.path(transfer.task), report(of: transfer))
    } else if keepsPartial, transfer.delivery == nil, let validator = transfer.validator,
      transfer.response != nil, sink.size > 0,
      !sink.isTooLarge
    {
      let partial = PartialBody(
        offset: sink.size, total: outcome.progress.countOfBytesExpectedToReceive, validator: validator)
      transfer.outcome?.partial = ResumePoint(partial: partial, source: transfer.task)
      sink.keepPartial(as: transfer.session.bodies.partialPath(transfer.task), report(of: transfer))
    } else if keepsPartial, !sink.isTooLarge, mayKeepPart(transfer) {
      transfer.keepsForCache = true
      sink.keepPartial(as: transfer.session.bodies.path(transfer.task), report(of: transfer))
    } else {
      sink.discard()
      conclude(transfer)
    }
  }

  private func report(of transfer: Transfer) -> @Sendable (BodySink.Stored) -> Void {
    let task = transfer.task
    return { [self] result in
      // A small body is at hand at once; a large one comes back from a thread of the pool.
      guard loop.isOnLoop, let transfer = self.transfer(task) else { return post(.stored(task, result)) }
      stored(transfer, result)
    }
  }

  func stored(_ transfer: Transfer, _ result: BodySink.Stored) {
    guard var outcome = transfer.outcome else { return }
    switch result {
    case .success(let part) where transfer.keepsForCache:
      keep(transfer, part.body, sha256: part.sha256, isComplete: false)
    case .success where outcome.error != nil:
      outcome.error?.resumeDataAvailable = outcome.partial != nil
      if outcome.partial == nil {
        outcome.endedAt = settings.now()
        transfer.outcome = outcome
        let task = transfer.task
        return remove(task, in: transfer.session.bodies) { [weak self] in self?.post(.cleared(task)) }
      }
    case .success(let stored):
      outcome.body = stored.body
      outcome.sha256 = stored.sha256
      outcome.size = transfer.sink?.size ?? 0
      keep(transfer, stored.body, sha256: stored.sha256, isComplete: true)
    case .failure(var error):
      error.failingURL = transfer.request.url
      outcome.partial = nil
      outcome.error = outcome.error ?? error
    }
    outcome.endedAt = settings.now()
    transfer.outcome = outcome
    conclude(transfer)
  }

  /// Tells the end of a task that has nothing left to do on the disk.
  func conclude(_ transfer: Transfer) {
    guard transfer.outcome != nil, hasNoClaim(transfer), let outcome = transfer.outcome else { return }
    transfer.outcome = nil
    transfer.live?.end(outcome.error == nil ? .finished : .failed)
    if transfer.job.kind != .download { setLiveBody(nil, of: transfer.task) }
    facts += transfer.takeFacts()
    facts.append(.ended(transfer.task, outcome))
    forget(transfer)
    loop.wake()
  }

  /// Ends a task that never reached the wire.
  func end(_ job: TransferJob, with error: TransferError) {
    var error = error
    if error.failingURL == nil { error.failingURL = job.request.url }
    var outcome = TransferOutcome(
      error: error, currentRequest: job.request, response: nil, progress: TaskProgress(), transactions: [],
      endedAt: settings.now())
    if let point = job.resumePoint, job.fault == nil {
      outcome.partial = point
      outcome.error?.resumeDataAvailable = true
    }
    facts.append(.ended(job.task, outcome))
    loop.wake()
  }
}
