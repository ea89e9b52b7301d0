internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// How transfers end.
final class TransferEndings: @unchecked Sendable {
  // Unchecked: it belongs to the loop's thread.
  private let context: TransferContext
  private let wire: TransferWire
  private let files: TransferFiles
  private let keeping: CacheKeeping

  init(_ context: TransferContext, _ wire: TransferWire, _ files: TransferFiles, _ keeping: CacheKeeping) {
    self.context = context
    self.wire = wire
    self.files = files
    self.keeping = keeping
  }

  /// The answer is here, or will not be.
  /// - Parameter error: how the wire ended.
  func settle(_ transfer: Transfer, _ error: TransferError?) -> TransferAction {
    switch keeping.verdict(on: transfer, error) {
    case .settled: break
    case .tell(let response, let size):
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
    // All of it is here, and on its way to the disk: it is dropped once it is there.
    transfer.outcome?.error = error
    return .wait
  }

  func abort(_ transfer: Transfer, _ error: TransferError, keepsPartial: Bool) -> TransferAction {
    let ending = TransferCourse.Ending(error: error, keepsPartial: keepsPartial)
    guard transfer.machine.course.abort(ending) == .now else {
      transfer.digester?.stop()
      return .wait
    }
    wire.leave(transfer)
    return .finish(error, keepsPartial: keepsPartial)
  }

  /// The wire is done with the task; its body may still be on its way to the disk.
  func finish(_ transfer: Transfer, with error: TransferError?, keepsPartial: Bool) -> TransferAction {
    wire.reclaim(transfer, isClean: false)
    transfer.noteProgress()
    transfer.source?.detach()
    transfer.machine.course.finish()
    let outcome = TransferOutcome(
      error: error, currentRequest: transfer.currentRequest, response: transfer.response,
      progress: transfer.progress, transactions: transfer.transactions, endedAt: context.settings.now())
    transfer.outcome = outcome
    if error != nil, keepsPartial, var point = transfer.machine.upload?.point {
      point.source = transfer.task
      transfer.outcome?.partial = .upload(point)
      transfer.outcome?.error?.resumeDataAvailable = true
    }
    switch fate(of: transfer, hasFailed: error != nil, keepsPartial) {
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

  /// What becomes of the bytes that have come.
  private func fate(of transfer: Transfer, hasFailed: Bool, _ keepsPartial: Bool) -> BodyFate {
    let ending = BodyFate.Ending(
      hasFailed: hasFailed, keepsPartial: keepsPartial, size: transfer.sink?.size,
      isTooLarge: transfer.sink?.isTooLarge == true, isFromCache: transfer.caching.delivery != nil,
      hasResponse: transfer.response != nil)
    return BodyFate(at: ending, partial: transfer.partial, isCacheable: mayKeepPart(of: transfer))
  }

  /// Whether what came of an answer that broke off is worth keeping (RFC 9111 §3.3).
  private func mayKeepPart(of transfer: Transfer) -> Bool {
    guard !transfer.job.asksForCaching, transfer.caching.delivery == nil, let sink = transfer.sink else {
      return false
    }
    return keeping.storable(transfer)?.response(size: sink.size, sha256: "", isComplete: false) != nil
  }

  private func report(of transfer: Transfer) -> @Sendable (BodySink.Stored) -> Void {
    let task = transfer.task
    return { [self] result in
      // A small body is at hand at once; a large one comes back from a thread of the pool.
      guard context.loop.isOnLoop else { return context.mailbox.post(.stored(task, result)) }
      context.goOn(task) { stored($0, result) }
    }
  }

  func stored(_ transfer: Transfer, _ result: BodySink.Stored) -> TransferAction {
    guard var outcome = transfer.outcome else { return .wait }
    switch result {
    case .success(let part) where transfer.caching.keepsForCache:
      keeping.keep(transfer, part.body, sha256: part.sha256, isComplete: false)
    case .success where outcome.error != nil:
      outcome.error?.resumeDataAvailable = outcome.partial != nil
      if outcome.partial == nil {
        outcome.endedAt = context.settings.now()
        transfer.outcome = outcome
        let task = transfer.task
        let concludes = WorkerMailbox.Command.goOn(task) { _ in .conclude }
        files.remove(transfer.key(.body), in: transfer.session.bodies, then: concludes)
        return .wait
      }
    case .success(let stored):
      outcome.body = stored.body
      // A small body is in its row; in memory it takes room under its key as well.
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

  /// Tells the end of a task that has nothing left to do on the disk.
  func conclude(_ transfer: Transfer) {
    guard transfer.outcome != nil else { return }
    let isSuccess = (200..<300).contains(transfer.outcome?.response?.status ?? 0)
    let rest = transfer.machine.claim.atEnd(
      isReplaced: isSuccess || transfer.machine.ranges.isBroken, hasFailed: transfer.outcome?.error != nil)
    if let kept = rest.keeps {
      transfer.outcome?.partial = .download(kept)
      transfer.outcome?.error?.resumeDataAvailable = true
    }
    guard rest.files == .nothing else { return files.giveBack(rest.files, of: transfer) }
    guard let outcome = transfer.outcome else { return }
    transfer.outcome = nil
    transfer.answer.live?.end(outcome.error == nil ? .finished : .failed)
    if transfer.job.kind != .download { context.setLiveBody(nil, of: transfer.task) }
    context.tell(transfer)
    context.report(.ended(transfer.task, outcome))
    context.forget(transfer)
  }

  /// Ends a task that never reached the wire.
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
