internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import TransferModel

/// The heads of answers, as they come from the wire, and what they lead to.
final class HeadReceiver {
  private let context: TransferContext
  private let keeping: CacheKeeping
  private let challenges: TransferChallenges
  private let delivery: ResponseDelivery

  init(
    _ context: TransferContext, _ keeping: CacheKeeping, _ challenges: TransferChallenges,
    _ delivery: ResponseDelivery
  ) {
    self.context = context
    self.keeping = keeping
    self.challenges = challenges
    self.delivery = delivery
  }

  // MARK: Lines

  /// - Returns: false where the transfer cannot go on.
  func received(_ bytes: UnsafeRawBufferPointer, by transfer: Transfer) -> Bool {
    transfer.touch()
    transfer.contact.hear()
    return ResponseHeadParser.lines(in: bytes) { take($0, transfer) }
  }

  private func take(_ line: UnsafeRawBufferPointer, _ transfer: Transfer) -> Bool {
    let ended = transfer.answer.parser.add(line)
    if let excess = transfer.answer.parser.excess {
      if transfer.machine.course.wireEnd == nil {
        transfer.machine.course.endWire(
          TransferError(.cannotParseResponse, excess, failingURL: transfer.request.url))
      }
      return false
    }
    guard let head = ended else { return true }
    let role = HeadRole(
      of: head, isPastConnect: transfer.contact.isPastConnect, hasAnswer: transfer.answer.head != nil,
      endsHere: transfer.request.method == "HEAD",
      isLeg: { transfer.machine.authenticator.isLeg($0, of: transfer.asked.challenger($0)) })
    switch role {
    case .connect: transfer.answer.connectHead = head
    case .informational: takeInformational(head, transfer)
    case .surplus: break
    case .broken(let code, let message):
      transfer.machine.course.endWire(TransferError(code, message, failingURL: transfer.request.url))
      return false
    case .leg:
      followChunks(of: head, transfer)
      keepCookies(of: head, transfer)
      transfer.answer.provisionalHead = head
    case .answer:
      transfer.answer.provisionalHead = nil
      followChunks(of: head, transfer)
      takeUp(head, transfer)
    }
    return true
  }

  /// Traces a chunked body, to detect its last chunk.
  private func followChunks(of head: ResponseHead, _ transfer: Transfer) {
    let isTraced = head.isChunked && (try? transfer.easy?.traceBody()) != nil
    transfer.answer.chunks = isTraced ? ChunkFraming() : nil
  }

  private func keepCookies(of head: ResponseHead, _ transfer: Transfer) {
    let settings = context.settings
    settings.storages.cookies.take(
      head, to: transfer.request, at: transfer.url, of: transfer.job, now: settings.now())
  }

  private func takeInformational(_ head: ResponseHead, _ transfer: Transfer) {
    let notification = TransferNotification.informational(status: head.status, headers: head.headers)
    transfer.facts.append(.notified(transfer.task, notification, at: context.settings.now()))
    guard transfer.machine.upload?.take(informational: head, at: transfer.url) == true,
      let point = transfer.machine.upload?.point
    else { return }
    noteUploadVersion(of: transfer)
    transfer.facts.append(.keeps(transfer.task, .upload(point)))
    context.hurry(transfer)
  }

  /// Records whether the server answered to the offered version of resumable uploads, for the session's next
  /// upload to this origin.
  func noteUploadVersion(of transfer: Transfer) {
    guard let upload = transfer.machine.upload, upload.step == .creation else { return }
    transfer.session.uploadVersions.note(
      upload.version, isSpoken: upload.point != nil, at: transfer.url.origin)
  }

  // MARK: The answer

  /// The head of an answer that libcurl does not answer by itself.
  func takeUp(_ head: ResponseHead, _ transfer: Transfer) {
    transfer.answer.head = head
    transfer.answer.headTime = context.settings.now()
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
    let verdict = transfer.machine.handle(
      head, to: asked, challenges.surroundings(of: transfer),
      refused: { [session = transfer.session] in session.authentication.forget($0) })
    carryOut(verdict, head, transfer)
  }

  private func carryOut(_ verdict: TransferMachine.Verdict, _ head: ResponseHead, _ transfer: Transfer) {
    switch verdict {
    case .challenge(let verdict, let side): challenges.carryOut(verdict, on: side, head, transfer)
    case .redirect(.follow(let proposed)):
      let response = TransferResponse(head, at: transfer.url)
      transfer.facts.append(
        .redirected(transfer.task, response, to: proposed, at: context.settings.now()))
      transfer.sendInstead(proposed)
    case .redirect(.ask(let proposed)):
      // Its body may become the result, so it is kept.
      transfer.sink = delivery.makeSink(transfer)
      transfer.machine.course.pause(for: .redirect(proposed: proposed))
      transfer.ask(.redirect(TransferResponse(head, at: transfer.url), proposed: proposed))
      context.hurry(transfer)
    case .send(let next): transfer.sendInstead(next)
    case .redirect(.fail(let error)), .fail(let error): delivery.fail(head, error, transfer)
    case .accept: delivery.accept(head, transfer)
    case .stop: transfer.machine.course.endWire(transfer.restIsMissing)
    }
  }
}
