internal import ContentCoding
internal import Curl
internal import EventLoop
internal import TransferModel

/// Requests on their way to libcurl and back.
final class TransferWire: WorkerPart {
  let configurator: RequestConfigurator
  private let handles: EasyHandlePool
  /// Some transfer is on the wire, or was at the last look.
  var isBusy = false

  override init(_ worker: TransferWorker) {
    configurator = RequestConfigurator(userAgent: worker.settings.userAgent)
    handles = EasyHandlePool(maximumIdle: worker.settings.maximumIdleHandles)
    super.init(worker)
  }

  func close() { handles.removeAll() }

  func send(_ transfer: Transfer) {
    let verdict = worker.serving.lookup(transfer)
    worker.serving.carryOut(verdict, transfer)
    guard case .load = verdict else { return }
    do {
      try worker.challenges.prepareRoute(transfer)
      if let side = transfer.machine.authenticator.sideThatNeedsToken {
        return worker.challenges.waitForToken(transfer, side)
      }
      transfer.prepareSource()
      let need = worker.files.need(of: transfer)
      guard need.isNothing else { return worker.files.open(need, of: transfer) }
      worker.sessions.noteBusy(transfer.job.session)
      let transport = try transport(of: transfer)
      let easy = try handles.take()
      transfer.easy = easy
      transfer.session.handlesInUse += 1
      transfer.transport = transport
      try configurator.configure(easy, for: transfer, multi: transport.multi)
      transfer.machine.course.goOnWire()
      isBusy = true
      transfer.touch()
      transfer.contact.begin()
      // Another range of the same body counts on.
      if !transfer.contact.isTryingAgain, !transfer.machine.ranges.isOpen { transfer.noteBegan() }
      try transport.add(easy)
    } catch let error as TransferError {
      worker.endings.finish(transfer, with: error)
      worker.sessions.noteIdle(transfer.job.session)
    } catch let error as CurlError where error.result == .outOfMemory {
      worker.sessions.noteIdle(transfer.job.session)
      worker.endings.finish(
        transfer,
        with: TransferError(
          .cannotConnectToHost, "no descriptor is left for a connection", failingURL: transfer.request.url,
          underlying: .init(library: "libcurl", code: error.result.code)))
    } catch {
      worker.sessions.noteIdle(transfer.job.session)
      worker.endings.finish(
        transfer, with: TransferError(.unknown, "libcurl: \(error)", failingURL: transfer.request.url))
    }
  }

  private func transport(of transfer: Transfer) throws -> CurlTransport {
    do {
      return try openTransport(of: transfer)
    } catch {
      // Others that do nothing have what is lacking.
      worker.sessions.closeIdle()
      return try openTransport(of: transfer)
    }
  }

  private func openTransport(of transfer: Transfer) throws -> CurlTransport {
    let lane = WorkerSession.Lane(
      classes: worker.settings.networks.lane(of: transfer.allowedClasses),
      codePoint: transfer.networkServiceType.codePoint, asksForTrust: transfer.job.asksForTrust,
      asksForCertificate: transfer.job.asksForCertificate)
    return try transfer.session.transport(on: worker.loop, in: lane) { [unowned self] completion in
      guard let transfer = completion.easy.delegate as? Transfer else { return }
      completed(transfer, completion)
    } held: { [unowned self] in
      worker.handshakes.held($0, $1, $2)
    }
  }

  /// Takes the handle from a transfer whose request is over.
  func reclaim(_ transfer: Transfer, isClean: Bool) {
    guard let easy = transfer.easy else { return }
    transfer.keepCounts()
    transfer.easy = nil
    easy.delegate = nil
    if isClean { handles.give(easy) }
    transfer.session.handlesInUse -= 1
    worker.sessions.noteIdle(transfer.job.session)
  }

  /// libcurl is done with a request.
  func completed(_ transfer: Transfer, _ completion: MultiHandle.Completion) {
    let (easy, result) = (completion.easy, result(completion, of: transfer))
    worker.handshakes.end(transfer)
    if let head = transfer.provisionalHead, transfer.head == nil { worker.heads.takeUp(head, transfer) }
    let challenges = worker.challenges.proxyChallenges(to: transfer, result, easy)
    guard challenges.isEmpty else {
      return worker.challenges.meetProxy(transfer, result, easy, challenges)
    }
    if transfer.connectsFirst, transfer.lacksBody, transfer.contact.isConnected {
      // Its handshake could not be held: the body is asked for all the same, before another try.
      reclaim(transfer, isClean: false)
      return worker.steps.sendNext(transfer, transfer.request, connectsFirst: false)
    }
    if transfer.contact.isPastConnect, transfer.machine.course.next == nil {
      worker.heads.noteUploadVersion(of: transfer)
    }
    if isRepeated(transfer, result, easy) {
      record(easy, of: transfer, isComplete: false)
      reclaim(transfer, isClean: false)
      return worker.steps.sendNext(transfer, transfer.request)
    }
    let isClean = result == .ok && transfer.head != nil
    let error = takeEnd(of: transfer, result, easy, isClean: isClean)
    if isClean, let source = transfer.source, source.length ?? transfer.sent <= transfer.sent {
      source.wasSent()
    }
    transfer.noteProgress()
    record(easy, of: transfer, isComplete: isClean)
    let easyErrno = easy.info(.osErrno)
    if easy.lacksDescriptor { worker.sessions.closeIdle() }
    reclaim(transfer, isClean: isClean && completion.result == .ok)
    let verdict = transfer.machine.wireEnded(
      error, status: transfer.head?.status, hasResponse: transfer.response != nil,
      lacksNetwork: worker.connectivity.mustWait(transfer, error, easyErrno), at: worker.settings.now())
    switch verdict {
    case .sendNext(let next): worker.steps.sendNext(transfer, next)
    case .waitForNetwork: worker.connectivity.wait(transfer)
    case .serve(let stored): worker.keeping.answerInstead(transfer, stored)
    case .join(let candidate): worker.keeping.join(transfer, candidate, error)
    case .hold: worker.leaveQueue(transfer.task)
    case .settle: worker.endings.settle(transfer, error)
    }
  }

  /// How libcurl has ended a request. A loss behind a whole answer does not matter. Nor does one behind the last chunk: libcurl waits for
  /// the end of the trailer section, without which the body is whole (RFC 9112 §8).
  private func result(_ completion: MultiHandle.Completion, of transfer: Transfer) -> CurlResult {
    guard Self.isLoss(completion.result) else { return completion.result }
    let easy = completion.easy
    if easy.hasWholeAnswer { return .ok }
    let isWhole =
      [.partialFile, .recvError].contains(completion.result) && transfer.chunks?.hasLastChunk == true
      && !easy.errorMessage.contains("chunk")
    return isWhole ? .ok : completion.result
  }

  /// The connection, or the stream, has gone.
  private static func isLoss(_ result: CurlResult) -> Bool {
    [.recvError, .sendError, .partialFile, .http2, .http2Stream].contains(result)
  }

  /// Whether a request that was lost is sent again: where that does nothing twice.
  private func isRepeated(_ transfer: Transfer, _ result: CurlResult, _ easy: EasyHandle) -> Bool {
    let course = transfer.machine.course
    guard result != .ok, course.next == nil, course.wireEnd == nil else { return false }
    var loss = RequestContact.Loss(isIdempotent: transfer.request.isIdempotent)
    switch result {
    // libcurl was about to send it again, which it does for one reason or the other.
    case .abortedByCallback where transfer.contact.refusesRepeat, .sendFailRewind: loss.wasKept = true
    case .recvError, .sendError, .partialFile: loss.wasKept = easy.info(.connectionsMade) == 0
    case .http2, .http2Stream: break
    default: return false
    }
    loss.isUnprocessed = easy.isUnprocessed
    return transfer.contact.lose(loss)
  }

  /// Hands on what is left of the answer. Returns how the wire ended; nil where the answer is whole, or where it does not matter any
  /// more.
  private func takeEnd(
    of transfer: Transfer, _ result: CurlResult, _ easy: EasyHandle, isClean: Bool
  ) -> TransferError? {
    if let end = transfer.machine.course.wireEnd { return end.error }
    guard transfer.machine.course.next == nil else { return nil }
    guard isClean else { return transfer.failure(result, easy) }
    if transfer.content.isCut {
      return RequestFailure.error(
        .malformed, hasResponse: transfer.response != nil, url: transfer.request.url)
    }
    guard transfer.multipart != nil else { return takeEndOfRange(of: transfer) }
    let areWhole = worker.bytes.finishParts(transfer)
    return areWhole ? nil : transfer.failure(.ok, easy)
  }

  /// What follows if the response was a part of the body. Returns an error if the rest is not asked for.
  private func takeEndOfRange(of transfer: Transfer) -> TransferError? {
    switch transfer.machine.ranges.end() {
    case .whole: return nil
    case .short: return HeadReceiver.restIsMissing(transfer)
    case .next:
      transfer.machine.course.send(transfer.request)
      return nil
    }
  }

  /// Closes the record of the request that just ended.
  /// - Parameter isComplete: it ended with the end of its answer.
  func record(_ easy: EasyHandle, of transfer: Transfer, isComplete: Bool) {
    let record = TransactionRecord(
      request: transfer.request, status: transfer.head?.status, isSecure: transfer.url.scheme == "https",
      fetchStart: transfer.fetchStart, end: worker.settings.now(), isComplete: isComplete,
      sent: transfer.sent, received: transfer.sink?.size ?? 0, isProxied: transfer.proxy != nil)
    let networks = worker.settings.networks
    transfer.transactions.append(record.metrics(easy) { networks.classes(ofLocal: $0) })
  }

  /// Takes a request off the wire before its end.
  func leave(_ transfer: Transfer) {
    guard transfer.state.isOnWire, let easy = transfer.easy else { return }
    transfer.machine.course.leave()
    // libcurl 7.88 leaks what a paused HTTP/2 stream has buffered unless it is offered once more (curl #10971).
    if !transfer.flow.directions.isEmpty { easy.setPaused([]) }
    let handshake = transfer.handshake
    if let handshake {
      worker.handshakes.end(transfer)
      handshake.decide(.refuse)
    } else {
      transfer.transport?.remove(easy)
    }
    record(easy, of: transfer, isComplete: false)
    reclaim(transfer, isClean: false)
    transfer.machine.course.park()
    if handshake != nil { transfer.transport?.abandon(easy) }
  }

  func applyFlow(_ transfer: Transfer) {
    guard transfer.state.isOnWire, let easy = transfer.easy else { return }
    transfer.transport?.setPaused(easy, transfer.flow.directions)
  }
}
