internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import TransferModel

/// The stage that receives the heads of responses and carries out their outcomes.
final class HeadReceiver {
  private let context: TransferContext
  private let keeping: CacheStorer
  private let challenges: ChallengeHandler
  private let delivery: ResponseDelivery

  init(
    _ context: TransferContext, _ keeping: CacheStorer, _ challenges: ChallengeHandler,
    _ delivery: ResponseDelivery
  ) {
    self.context = context
    self.keeping = keeping
    self.challenges = challenges
    self.delivery = delivery
  }

  // MARK: Lines

  /// - Returns: `false` if the transfer must end.
  func received(_ bytes: UnsafeRawBufferPointer, by transfer: Transfer) -> Bool {
    transfer.touch()
    transfer.connectionProgress.receivedBytes()
    return ResponseHeadParser.lines(in: bytes) { receiveLine($0, transfer) }
  }

  private func receiveLine(_ line: UnsafeRawBufferPointer, _ transfer: Transfer) -> Bool {
    let ended = transfer.received.parser.add(line)
    if let excess = transfer.received.parser.excess {
      if transfer.machine.lifecycle.wireEnd == nil {
        transfer.machine.lifecycle.endWire(
          TransferError(.cannotParseResponse, excess, failingURL: transfer.request.url))
      }
      return false
    }
    guard let head = ended else { return true }
    let role = ResponseHeadKind(
      of: head, isPastConnect: transfer.connectionProgress.isPastConnect,
      hasAnswer: transfer.received.head != nil,
      endsHere: transfer.request.method == "HEAD",
      isLeg: { transfer.machine.authenticator.isAnsweredByLibcurl($0, of: transfer.asked.challenger($0)) })
    switch role {
    case .connect: transfer.received.connectHead = head
    case .informational: takeInformational(head, transfer)
    case .surplus: break
    case .malformed(let code, let message):
      transfer.machine.lifecycle.endWire(TransferError(code, message, failingURL: transfer.request.url))
      return false
    case .intermediate:
      followChunks(of: head, transfer)
      keepCookies(of: head, transfer)
      transfer.received.provisionalHead = head
    case .answer:
      transfer.received.provisionalHead = nil
      followChunks(of: head, transfer)
      handle(head, transfer)
    }
    return true
  }

  /// Traces a chunked body, to detect its last chunk.
  private func followChunks(of head: ResponseHead, _ transfer: Transfer) {
    let isTraced = head.isChunked && (try? transfer.easy?.traceBody()) != nil
    transfer.received.chunks = isTraced ? ChunkFraming() : nil
  }

  private func keepCookies(of head: ResponseHead, _ transfer: Transfer) {
    let settings = context.settings
    settings.storages.cookies.storeCookies(
      head, to: transfer.request, at: transfer.url, of: transfer.job, now: settings.now())
  }

  private func takeInformational(_ head: ResponseHead, _ transfer: Transfer) {
    let notification = TransferNotification.informational(status: head.status, headers: head.headers)
    transfer.facts.append(.notified(transfer.task, notification, at: context.settings.now()))
    guard transfer.machine.upload?.handleInformational(informational: head, at: transfer.url) == true,
      let point = transfer.machine.upload?.point
    else { return }
    noteUploadVersion(of: transfer)
    transfer.facts.append(.keptPartial(transfer.task, .upload(point)))
    context.reportAtEndOfTick(transfer)
  }

  /// Records whether the server supports the offered version of resumable uploads, for the session's next upload to this origin.
  func noteUploadVersion(of transfer: Transfer) {
    guard let upload = transfer.machine.upload, upload.step == .creation else { return }
    transfer.session.uploadVersions.record(
      upload.version, isSpoken: upload.point != nil, at: transfer.url.origin)
  }

  // MARK: The response

  /// Handles the head of a response that libcurl does not answer by itself.
  func handle(_ head: ResponseHead, _ transfer: Transfer) {
    transfer.received.head = head
    transfer.received.headTime = context.settings.now()
    let origin = transfer.url.origin
    if transfer.session.note(origin, multiplexes: head.httpVersion == "HTTP/2") {
      context.limitChanged(transfer.job.session, origin)
    }
    // The origin has taken some of the body: report it.
    if transfer.request.body != nil { transfer.noteProgress() }
    if head.status >= 300 { transfer.stopSending() }
    challenges.note(head, transfer)
    let asked = transfer.asked
    if asked.challenger(head) != .proxy {
      keepCookies(of: head, transfer)
      guard keeping.passes(head, transfer) else { return }
    }
    let nextStep = transfer.machine.handle(
      head, to: asked, challenges.surroundings(of: transfer),
      refused: { [session = transfer.session] in session.authentication.forget($0) })
    carryOut(nextStep, head, transfer)
  }

  private func carryOut(
    _ nextStep: TransferMachine.ResponseAction, _ head: ResponseHead, _ transfer: Transfer
  ) {
    switch nextStep {
    case .challenge(let nextStep, let side): challenges.carryOut(nextStep, on: side, head, transfer)
    case .redirect(.follow(let proposed)):
      let response = TransferResponse(head, at: transfer.url)
      transfer.facts.append(
        .redirected(transfer.task, response, to: proposed, at: context.settings.now()))
      transfer.replaceRequest(proposed)
    case .redirect(.ask(let proposed)):
      // The body may become the result, so it is kept.
      transfer.sink = delivery.makeSink(transfer)
      transfer.machine.lifecycle.pause(for: .redirect(proposed: proposed))
      transfer.ask(.redirect(TransferResponse(head, at: transfer.url), proposed: proposed))
      context.reportAtEndOfTick(transfer)
    case .send(let next): transfer.replaceRequest(next)
    case .redirect(.fail(let error)), .fail(let error): delivery.fail(head, error, transfer)
    case .accept: delivery.deliver(head, transfer)
    case .stop: transfer.machine.lifecycle.endWire(transfer.restIsMissing)
    }
  }
}
