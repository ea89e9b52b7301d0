internal import Curl
internal import HTTPFields
internal import TransferModel

/// The heads of answers, as they come from the wire, and what they lead to.
final class HeadReceiver: WorkerPart {
  // MARK: Lines

  /// - Returns: false where the transfer cannot go on.
  func received(_ bytes: UnsafeRawBufferPointer, by transfer: Transfer) -> Bool {
    transfer.touch()
    transfer.contact.hear()
    return ResponseHeadParser.lines(in: bytes) { take($0, transfer) }
  }

  private func take(_ line: UnsafeRawBufferPointer, _ transfer: Transfer) -> Bool {
    let ended = transfer.parser.add(line)
    if let excess = transfer.parser.excess {
      if transfer.machine.course.wireEnd == nil {
        transfer.machine.course.endWire(
          TransferError(.cannotParseResponse, excess, failingURL: transfer.request.url))
      }
      return false
    }
    guard let head = ended else { return true }
    let role = HeadRole(
      of: head, isPastConnect: transfer.contact.isPastConnect, hasAnswer: transfer.head != nil,
      endsHere: transfer.request.method == "HEAD",
      isLeg: { transfer.machine.authenticator.isLeg($0, of: transfer.asked.challenger($0)) })
    switch role {
    case .connect: transfer.connectHead = head
    case .informational: takeInformational(head, transfer)
    case .surplus: break
    case .broken(let code, let message):
      transfer.machine.course.endWire(TransferError(code, message, failingURL: transfer.request.url))
      return false
    case .leg:
      followChunks(of: head, transfer)
      keepCookies(of: head, transfer)
      transfer.provisionalHead = head
    case .answer:
      transfer.provisionalHead = nil
      followChunks(of: head, transfer)
      takeUp(head, transfer)
    }
    return true
  }

  /// The body behind the head may come in chunks: then their last one is its end.
  private func followChunks(of head: ResponseHead, _ transfer: Transfer) {
    let isTraced = head.isChunked && (try? transfer.easy?.traceBody()) != nil
    transfer.chunks = isTraced ? ChunkFraming() : nil
  }

  private func keepCookies(of head: ResponseHead, _ transfer: Transfer) {
    let settings = worker.settings
    settings.storages.cookies.take(
      head, to: transfer.request, at: transfer.url, of: transfer.job, now: settings.now())
  }

  private func takeInformational(_ head: ResponseHead, _ transfer: Transfer) {
    transfer.facts.append(
      .informational(transfer.task, status: head.status, headers: head.headers, at: worker.settings.now()))
    guard transfer.machine.upload?.take(informational: head, at: transfer.url) == true,
      let point = transfer.machine.upload?.point
    else { return }
    noteUploadVersion(of: transfer)
    transfer.facts.append(.keeps(transfer.task, .upload(point)))
    worker.hurry(transfer)
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
    transfer.head = head
    transfer.headTime = worker.settings.now()
    let origin = transfer.url.origin
    if transfer.session.note(origin, multiplexes: head.httpVersion == "HTTP/2") {
      worker.post(.limitChanged(transfer.job.session, origin: origin))
    }
    // An answer tells that the body was taken, as far as it will be.
    if transfer.request.body != nil { transfer.noteProgress() }
    if head.status >= 300 { worker.bytes.stopSending(transfer) }
    worker.challenges.note(head, transfer)
    let asked = transfer.asked
    if asked.challenger(head) != .proxy {
      keepCookies(of: head, transfer)
      guard worker.keeping.passes(head, transfer) else { return }
    }
    let verdict = transfer.machine.handle(
      head, to: asked, worker.challenges.surroundings(of: transfer),
      refused: { [session = transfer.session] in session.authentication.forget($0) })
    carryOut(verdict, head, transfer)
  }

  private func carryOut(_ verdict: TransferMachine.Verdict, _ head: ResponseHead, _ transfer: Transfer) {
    switch verdict {
    case .challenge(let verdict, let side): worker.challenges.carryOut(verdict, on: side, head, transfer)
    case .redirect(.follow(let proposed)):
      let response = TransferResponse(head, at: transfer.url)
      transfer.facts.append(
        .redirected(transfer.task, response, to: proposed, at: worker.settings.now()))
      transfer.sendInstead(proposed)
    case .redirect(.ask(let proposed)):
      // Its body may become the result, so it is kept.
      transfer.sink = makeSink(transfer)
      transfer.machine.course.pause(for: .redirect(proposed: proposed))
      transfer.ask(.redirect(TransferResponse(head, at: transfer.url), proposed: proposed))
      worker.hurry(transfer)
    case .send(let next): transfer.sendInstead(next)
    case .redirect(.fail(let error)), .fail(let error): fail(head, error, transfer)
    case .accept: accept(head, transfer)
    case .stop: transfer.machine.course.endWire(Self.restIsMissing(transfer))
    }
  }

  /// The answer is as good as none: the task ends with that error when the wire is done.
  func fail(_ head: ResponseHead, _ error: TransferError, _ transfer: Transfer) {
    transfer.response = TransferResponse(head, at: transfer.url)
    transfer.machine.course.endWire(error)
  }

  /// The head of the answer whose body is the task's.
  func accept(_ head: ResponseHead, _ transfer: Transfer) {
    let hasJoined = transfer.machine.ranges.hasJoined
    switch transfer.machine.ranges.handle(head, from: transfer.url.withoutQuery) {
    case .deliver:
      guard transfer.machine.claim.point != nil, (200..<300).contains(head.status), !hasJoined else { break }
      noteResumed(at: 0, of: TransferResponse(head, at: transfer.url).expectedContentLength, transfer)
    case .append(let offset):
      if transfer.sink == nil { transfer.sink = makeSink(transfer, resuming: offset) }
      if !hasJoined { noteResumed(at: offset, of: transfer.machine.ranges.total ?? -1, transfer) }
      transfer.noteKept()
    case .startAgain: return transfer.sendInstead(transfer.request)
    case .complete: return transfer.machine.course.endWire(nil)
    case .stop: return transfer.machine.course.endWire(Self.restIsMissing(transfer))
    case .fail: return transfer.machine.course.endWire(Self.rangesDoNotFit(transfer))
    }
    if transfer.job.kind != .download, let type = head.headers.contentType,
      let parts = MultipartAnswer(contentType: type)
    {
      transfer.multipart = parts
    } else {
      announce(TransferResponse(head, at: transfer.url), transfer)
    }
  }

  private func noteResumed(at offset: Int64, of total: Int64, _ transfer: Transfer) {
    transfer.facts.append(
      .resumed(transfer.task, offset: offset, expectedTotal: total, at: worker.settings.now()))
  }

  /// The bytes that came remain good.
  static func restIsMissing(_ transfer: Transfer) -> TransferError {
    TransferError(
      .networkConnectionLost, "the server did not send the rest of the body", failingURL: transfer.request.url
    )
  }

  static func rangesDoNotFit(_ transfer: Transfer) -> TransferError {
    TransferError(
      .cannotParseResponse, "the server's ranges do not belong to one version of the body",
      failingURL: transfer.request.url)
  }

  /// Shows an answer, or a part of one, to the delegate; holds the transfer where that wants to decide.
  func announce(_ response: TransferResponse, _ transfer: Transfer) {
    transfer.response = response
    let sink = transfer.sink ?? makeSink(transfer)
    transfer.sink = sink
    let isDownload = transfer.job.kind == .download
    transfer.live?.beginPart(isDownload ? nil : response, at: sink.size)
    guard !isDownload else { return }
    guard transfer.job.asksForResponses else {
      if transfer.multipart != nil { transfer.live?.countPart() }
      transfer.facts.append(
        .response(transfer.task, response, BodyReference(transfer.live), at: worker.settings.now()))
      return
    }
    transfer.machine.course.pause(for: .response)
    // The question comes behind the bytes of the part before: those must not wait for it.
    sink.flushSlow(transfer.drained)
    transfer.ask(.response(response, BodyReference(transfer.live)))
    worker.hurry(transfer)
  }

  /// - Parameter offset: of the bytes that are there already.
  func makeSink(_ transfer: Transfer, resuming offset: Int64? = nil) -> BodySink {
    if transfer.job.kind != .download, transfer.live == nil {
      transfer.live = LiveBody(
        isIncremental: transfer.job.prefersIncrementalDelivery, hasRoom: transfer.drained)
    }
    return worker.files.makeSink(transfer, resuming: offset)
  }
}
