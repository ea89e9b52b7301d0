internal import BlobStore
internal import EventLoop
internal import TransferModel

/// How transfers end.
final class TransferEndings: WorkerPart {
  /// The answer is here, or will not be.
  /// - Parameter error: how the wire ended.
  func settle(_ transfer: Transfer, _ error: TransferError?) {
    switch worker.keeping.verdict(on: transfer, error) {
    case .settled: break
    case .tell(let response, let size):
      transfer.storagePolicy = .allowed
      transfer.facts.append(.willCache(transfer.task, response, size: size, at: worker.settings.now()))
    case .ask(let response): return worker.keeping.askAboutCaching(transfer, response)
    }
    finish(transfer, with: error)
  }

  func cancel(_ transfer: Transfer, _ error: TransferError, keepsPartial: Bool) {
    var error = error
    error.failingURL = transfer.request.url
    guard transfer.state.isFinishing else { return abort(transfer, error, keepsPartial: keepsPartial) }
    // All of it is here, and on its way to the disk: it is dropped once it is there.
    transfer.outcome?.error = error
  }

  func abort(_ transfer: Transfer, _ error: TransferError, keepsPartial: Bool = true) {
    let ending = TransferCourse.Ending(error: error, keepsPartial: keepsPartial)
    guard transfer.machine.course.abort(ending) == .now else {
      transfer.digester?.stop()
      return
    }
    worker.wire.leave(transfer)
    finish(transfer, with: error, keepsPartial: keepsPartial)
  }

  /// Finishes a transfer that was ended while it waited for files; false if it was not.
  func finishIfEnded(_ transfer: Transfer) -> Bool {
    guard let end = transfer.machine.course.endsOnceOpened else { return false }
    finish(transfer, with: end.error, keepsPartial: end.keepsPartial)
    return true
  }

  /// The wire is done with the task; its body may still be on its way to the disk.
  func finish(_ transfer: Transfer, with error: TransferError?, keepsPartial: Bool = true) {
    worker.wire.reclaim(transfer, isClean: false)
    transfer.noteProgress()
    transfer.source?.detach()
    transfer.machine.course.finish()
    let outcome = TransferOutcome(
      error: error, currentRequest: transfer.currentRequest, response: transfer.response,
      progress: transfer.progress, transactions: transfer.transactions, endedAt: worker.settings.now())
    transfer.outcome = outcome
    if error != nil, keepsPartial, var point = transfer.machine.upload?.point {
      point.source = transfer.task
      transfer.outcome?.partial = .upload(point)
      transfer.outcome?.error?.resumeDataAvailable = true
    }
    switch fate(of: transfer, hasFailed: error != nil, keepsPartial) {
    case .nothing: conclude(transfer)
    case .whole: transfer.sink?.finish(as: transfer.key(.body), report(of: transfer))
    case .resumable(let partial):
      transfer.outcome?.partial = ResumePoint(
        partial: partial, source: transfer.task, blob: transfer.job.blob)
      transfer.sink?.keepPartial(as: transfer.key(.partial), report(of: transfer))
    case .cached:
      transfer.keepsForCache = true
      transfer.sink?.keepPartial(as: transfer.key(.body), report(of: transfer))
    case .dropped:
      transfer.sink?.discard()
      conclude(transfer)
    }
  }

  /// What becomes of the bytes that have come.
  private func fate(of transfer: Transfer, hasFailed: Bool, _ keepsPartial: Bool) -> BodyFate {
    let ending = BodyFate.Ending(
      hasFailed: hasFailed, keepsPartial: keepsPartial, size: transfer.sink?.size,
      isTooLarge: transfer.sink?.isTooLarge == true, isFromCache: transfer.delivery != nil,
      hasResponse: transfer.response != nil)
    return BodyFate(at: ending, partial: transfer.partial, isCacheable: mayKeepPart(of: transfer))
  }

  /// Whether what came of an answer that broke off is worth keeping (RFC 9111 §3.3).
  private func mayKeepPart(of transfer: Transfer) -> Bool {
    guard !transfer.job.asksForCaching, transfer.delivery == nil, let sink = transfer.sink else {
      return false
    }
    return worker.keeping.storable(transfer)?.response(size: sink.size, sha256: "", isComplete: false) != nil
  }

  private func report(of transfer: Transfer) -> @Sendable (BodySink.Stored) -> Void {
    let task = transfer.task
    return { [worker] result in
      // A small body is at hand at once; a large one comes back from a thread of the pool.
      guard worker.loop.isOnLoop, let transfer = worker.transfer(task) else {
        return worker.post(.stored(task, result))
      }
      worker.endings.stored(transfer, result)
    }
  }

  func stored(_ transfer: Transfer, _ result: BodySink.Stored) {
    guard var outcome = transfer.outcome else { return }
    switch result {
    case .success(let part) where transfer.keepsForCache:
      worker.keeping.keep(transfer, part.body, sha256: part.sha256, isComplete: false)
    case .success where outcome.error != nil:
      outcome.error?.resumeDataAvailable = outcome.partial != nil
      if outcome.partial == nil {
        outcome.endedAt = worker.settings.now()
        transfer.outcome = outcome
        let task = transfer.task
        return worker.files.remove(transfer.key(.body), in: transfer.session.bodies) {
          [mailbox = worker.mailbox] in
          mailbox.post(.cleared(task))
        }
      }
    case .success(let stored):
      outcome.body = stored.body
      // A small body is in its row; in memory it takes room under its key as well.
      if stored.body.isFile || !transfer.session.bodies.isDurable { outcome.blob = transfer.job.blob }
      outcome.sha256 = stored.sha256
      outcome.size = transfer.sink?.size ?? 0
      worker.keeping.keep(transfer, stored.body, sha256: stored.sha256, isComplete: true)
    case .failure(var error):
      error.failingURL = transfer.request.url
      outcome.partial = nil
      outcome.error = outcome.error ?? error
    }
    outcome.endedAt = worker.settings.now()
    transfer.outcome = outcome
    conclude(transfer)
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
    guard rest.files == .nothing else { return worker.files.giveBack(rest.files, of: transfer) }
    guard let outcome = transfer.outcome else { return }
    transfer.outcome = nil
    transfer.live?.end(outcome.error == nil ? .finished : .failed)
    if transfer.job.kind != .download { worker.setLiveBody(nil, of: transfer.task) }
    worker.facts += transfer.takeFacts()
    worker.facts.append(.ended(transfer.task, outcome))
    worker.forget(transfer)
    worker.loop.wake()
  }

  /// Ends a task that never reached the wire.
  func end(_ job: TransferJob, with error: TransferError) {
    var error = error
    if error.failingURL == nil { error.failingURL = job.request.url }
    var outcome = TransferOutcome(
      error: error, currentRequest: job.request, response: nil, progress: TaskProgress(), transactions: [],
      endedAt: worker.settings.now())
    if let point = job.resumePoint, job.fault == nil {
      outcome.partial = point
      outcome.error?.resumeDataAvailable = true
    }
    worker.facts.append(.ended(job.task, outcome))
    worker.loop.wake()
  }
}
