internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// The stage that ends transfers.
final class TransferFinisher: @unchecked Sendable {
  // Unchecked: used only on the loop's thread.
  private let context: TransferContext
  private let wire: EasyHandleAttachment
  private let files: TransferFileLoader
  private let keeping: CacheStorer

  init(
    _ context: TransferContext, _ wire: EasyHandleAttachment, _ files: TransferFileLoader,
    _ keeping: CacheStorer
  ) {
    self.context = context
    self.wire = wire
    self.files = files
    self.keeping = keeping
  }

  /// Ends a transfer that is done with the wire. The delegate is notified or asked about caching first.
  /// - Parameter error: The error with which the request ended on the wire.
  func settle(_ transfer: Transfer, _ error: TransferError?) -> TransferAction {
    switch keeping.willCacheCall(on: transfer, error) {
    case .settled: break
    case .notify(let response, let size):
      transfer.caching.storagePolicy = .allowed
      transfer.facts.append(.willCache(transfer.task, response, size: size, at: context.settings.now()))
    case .ask(let response):
      keeping.askAboutCaching(transfer, response)
      return .wait
    }
    return .finish(error)
  }

  func cancel(_ transfer: Transfer, _ error: TransferError, keepsPartial: Bool) -> TransferAction {
    var error = error
    error.failingURL = transfer.request.url
    guard transfer.state.isFinishing else { return .abort(error, keepsPartial: keepsPartial) }
    // The body is complete and on its way to the disk. It is deleted there.
    transfer.outcome?.error = error
    return .wait
  }

  func abort(_ transfer: Transfer, _ error: TransferError, keepsPartial: Bool) -> TransferAction {
    let ending = TransferLifecycle.Ending(error: error, keepsPartial: keepsPartial)
    guard transfer.machine.lifecycle.abort(ending) == .now else {
      transfer.digester?.stop()
      return .wait
    }
    wire.leave(transfer)
    return .finish(error, keepsPartial: keepsPartial)
  }

  /// Finishes a transfer that is done with the wire. Its body may still be on its way to the disk.
  func finish(_ transfer: Transfer, with error: TransferError?, keepsPartial: Bool) -> TransferAction {
    wire.reclaim(transfer, isClean: false)
    transfer.noteProgress()
    transfer.source?.cancel()
    transfer.machine.lifecycle.finish()
    let error = transfer.machine.requirements.endError(
      error, status: transfer.response?.status, size: transfer.sink?.size ?? 0,
      excess: (transfer.sink?.isTooLarge == true, context.settings.maximumBodySize), url: transfer.request.url
    )
    // A response that the client does not accept is no reason to resume.
    let keepsPartial = keepsPartial && error?.isRefusal != true
    let outcome = TransferOutcome(
      error: error, currentRequest: transfer.currentRequest, response: transfer.response,
      progress: transfer.progress, transactions: transfer.transactions, endedAt: context.settings.now())
    transfer.outcome = outcome
    if error != nil, keepsPartial, var point = transfer.machine.upload?.point {
      point.source = transfer.task
      transfer.outcome?.partial = .upload(point)
      transfer.outcome?.error?.resumeDataAvailable = true
    }
    switch bodyOutcome(of: transfer, hasFailed: !transfer.hasBody(endingWith: error), keepsPartial) {
    case .nothing: return .conclude
    case .whole: transfer.sink?.finish(as: transfer.key(.body), report(of: transfer))
    case .resumable(let partial):
      transfer.outcome?.partial = ResumePoint(
        partial: partial, source: transfer.task, blob: transfer.job.blob)
      transfer.sink?.keepPartial(as: transfer.key(.partial), report(of: transfer))
    case .cached:
      transfer.caching.keepsForCache = true
      transfer.sink?.keepPartial(as: transfer.key(.body), report(of: transfer))
    case .dropped:
      transfer.sink?.discard()
      return .conclude
    }
    return .wait
  }

  /// Returns the outcome of the received bytes.
  private func bodyOutcome(of transfer: Transfer, hasFailed: Bool, _ keepsPartial: Bool) -> BodyOutcome {
    let ending = BodyOutcome.Ending(
      hasFailed: hasFailed, keepsPartial: keepsPartial, size: transfer.sink?.size,
      isTooLarge: transfer.sink?.isTooLarge == true, isFromCache: transfer.caching.delivery != nil,
      hasResponse: transfer.response != nil)
    return BodyOutcome(at: ending, partial: transfer.partial, isCacheable: mayKeepPart(of: transfer))
  }

  /// Returns whether the cache could use the received part of a broken response (RFC 9111 §3.3).
  private func mayKeepPart(of transfer: Transfer) -> Bool {
    guard !transfer.job.asksForCaching, transfer.caching.delivery == nil, let sink = transfer.sink else {
      return false
    }
    return keeping.storable(transfer)?.response(size: sink.size, sha256: "", isComplete: false) != nil
  }

  private func report(of transfer: Transfer) -> @Sendable (BodySink.Stored) -> Void {
    let task = transfer.task
    return { [self] result in
      // A small body is available at once; a large one is reported by a thread of the pool.
      guard context.loop.isOnLoop else { return context.mailbox.post(.stored(task, result)) }
      context.resume(task) { stored($0, result) }
    }
  }

  func stored(_ transfer: Transfer, _ result: BodySink.Stored) -> TransferAction {
    guard var outcome = transfer.outcome else { return .wait }
    if case .success(let body) = result, outcome.error == nil {
      switch transfer.machine.requirements.digestAction(
        body.sha256, status: outcome.response?.status, isResumed: transfer.machine.ranges.hasJoined,
        url: transfer.request.url)
      {
      case .accept: break
      case .startAgain: return startAgain(transfer)
      case .fail(let error):
        outcome.error = error
        // The next task must not get the same body from the cache.
        if let stored = transfer.caching.delivery?.stored { transfer.session.cache?.remove(stored) }
      }
    }
    switch result {
    case .success(let part) where transfer.caching.keepsForCache:
      keeping.keep(transfer, part.body, sha256: part.sha256, isComplete: false)
    case .success where !transfer.hasBody(endingWith: outcome.error):
      outcome.error?.resumeDataAvailable = outcome.partial != nil
      if outcome.partial == nil {
        outcome.endedAt = context.settings.now()
        transfer.outcome = outcome
        let task = transfer.task
        let concludes = TransferLoopMailbox.Command.resume(task) { _ in .conclude }
        files.remove(transfer.key(.body), in: transfer.session.bodies, then: concludes)
        return .wait
      }
    case .success(let stored):
      outcome.body = stored.body
      // A small body is in its row. In an ephemeral session it also uses memory quota under its key.
      if stored.body.isFile || !transfer.session.bodies.isDurable { outcome.blob = transfer.job.blob }
      outcome.sha256 = stored.sha256
      outcome.size = transfer.sink?.size ?? 0
      keeping.keep(transfer, stored.body, sha256: stored.sha256, isComplete: true)
    case .failure(var error):
      error.failingURL = transfer.request.url
      outcome.partial = nil
      outcome.error = outcome.error ?? error
    }
    outcome.endedAt = context.settings.now()
    transfer.outcome = outcome
    return .conclude
  }

  /// Fetches the whole body after a resumed one turned out to be wrong. The next body needs the same key.
  private func startAgain(_ transfer: Transfer) -> TransferAction {
    let again = TransferLoopMailbox.Command.resume(transfer.task) { transfer in
      guard transfer.outcome?.error == nil else { return .conclude }
      transfer.fetchFromStart()
      return .proceed
    }
    files.remove(transfer.key(.body), in: transfer.session.bodies, then: again)
    return .wait
  }

  /// Reports the end of a task whose files are done.
  func conclude(_ transfer: Transfer) {
    guard transfer.outcome != nil else { return }
    let isSuccess = (200..<300).contains(transfer.outcome?.response?.status ?? 0)
    let rest = transfer.machine.claim.atEnd(
      isReplaced: isSuccess || transfer.machine.ranges.isBroken, hasFailed: transfer.outcome?.error != nil)
    if let kept = rest.keptPoint {
      transfer.outcome?.partial = .download(kept)
      transfer.outcome?.error?.resumeDataAvailable = true
    }
    guard rest.files == .nothing else { return files.giveBack(rest.files, of: transfer) }
    guard let outcome = transfer.outcome else { return }
    transfer.outcome = nil
    transfer.received.live?.end(transfer.hasBody(endingWith: outcome.error) ? .finished : .failed)
    if transfer.job.kind != .download { context.setLiveBody(nil, of: transfer.task) }
    context.reportFacts(transfer)
    context.report(.ended(transfer.task, outcome))
    context.remove(transfer)
  }

  /// Ends a task that was never on the wire.
  func end(_ job: TransferJob, with error: TransferError) {
    var error = error
    if error.failingURL == nil { error.failingURL = job.request.url }
    var outcome = TransferOutcome(
      error: error, currentRequest: job.request, response: nil, progress: TaskProgress(), transactions: [],
      endedAt: context.settings.now())
    if let point = job.resumePoint, job.fault == nil {
      outcome.partial = point
      outcome.error?.resumeDataAvailable = true
    }
    context.report(.ended(job.task, outcome))
  }
}

extension TransferError {
  /// Whether the transfer was complete, but the client does not accept its response.
  fileprivate var isRefusal: Bool { reason == .ferry(.httpStatus) || reason == .ferry(.contentMismatch) }
}

extension Transfer {
  /// Whether the received bytes are the task's body. A response with a status that the client does not accept has a body, too, unless the
  /// task is a download.
  fileprivate func hasBody(endingWith error: TransferError?) -> Bool {
    error == nil || error?.reason == .ferry(.httpStatus) && job.kind != .download
  }
}
