internal import ContentCoding
internal import Curl
internal import EngineAPI
internal import TransferModel

/// Takes the end of a request from libcurl, and returns the next action.
final class RequestCompletion {
  private let context: TransferContext
  private let wire: TransferWire
  private let heads: HeadReceiver
  private let bytes: ByteReceiver
  private let challenges: TransferChallenges
  private let connectivity: ConnectivityWaiters

  init(
    _ context: TransferContext, _ wire: TransferWire, _ heads: HeadReceiver, _ bytes: ByteReceiver,
    _ challenges: TransferChallenges, _ connectivity: ConnectivityWaiters
  ) {
    self.context = context
    self.wire = wire
    self.heads = heads
    self.bytes = bytes
    self.challenges = challenges
    self.connectivity = connectivity
  }

  /// libcurl is done with a request.
  func completed(_ transfer: Transfer, _ completion: MultiHandle.Completion) -> TransferAction {
    let (easy, result) = (completion.easy, result(completion, of: transfer))
    wire.endHandshake(transfer)
    if let head = transfer.answer.provisionalHead, transfer.answer.head == nil {
      heads.takeUp(head, transfer)
    }
    let asked = challenges.proxyChallenges(to: transfer, result, easy)
    guard asked.isEmpty else {
      return challenges.meetProxy(transfer, result, easy, asked)
    }
    if transfer.connectsFirst, transfer.lacksBody, transfer.contact.isConnected {
      // The handshake could not be held: ask for the body, then try again.
      wire.reclaim(transfer, isClean: false)
      return .sendNext(transfer.request, connectsFirst: false)
    }
    if transfer.contact.isPastConnect, transfer.machine.course.next == nil {
      heads.noteUploadVersion(of: transfer)
    }
    if isRepeated(transfer, result, easy) {
      wire.record(easy, of: transfer, isComplete: false)
      wire.reclaim(transfer, isClean: false)
      return .sendNext(transfer.request)
    }
    let isClean = result == .ok && transfer.answer.head != nil
    let error = takeEnd(of: transfer, result, easy, isClean: isClean)
    if isClean, let source = transfer.source, source.length ?? transfer.sent <= transfer.sent {
      source.wasSent()
    }
    transfer.noteProgress()
    wire.record(easy, of: transfer, isComplete: isClean)
    let easyErrno = easy.info(.osErrno)
    if easy.lacksDescriptor { context.sessions.closeIdle() }
    wire.reclaim(transfer, isClean: isClean && completion.result == .ok)
    return transfer.machine.wireEnded(
      error, status: transfer.answer.head?.status, hasResponse: transfer.response != nil,
      lacksNetwork: connectivity.mustWait(transfer, error, easyErrno), at: context.settings.now())
  }

  /// The request's result. A connection lost after the whole answer is no error. Nor is one lost after the last chunk, before the trailer
  /// section ends (RFC 9112 §8).
  private func result(_ completion: MultiHandle.Completion, of transfer: Transfer) -> CurlResult {
    guard Self.isLoss(completion.result) else { return completion.result }
    let easy = completion.easy
    if easy.hasWholeAnswer { return .ok }
    let isWhole =
      [.partialFile, .recvError].contains(completion.result) && transfer.answer.chunks?.hasLastChunk == true
      && !easy.errorMessage.contains("chunk")
    return isWhole ? .ok : completion.result
  }

  /// The connection, or the stream, has gone.
  private static func isLoss(_ result: CurlResult) -> Bool {
    [.recvError, .sendError, .partialFile, .http2, .http2Stream].contains(result)
  }

  /// Whether to resend a lost request: only if that is safe.
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

  /// Delivers the rest of the answer. Returns the error; nil if the answer is whole or another request follows.
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
    guard transfer.answer.multipart != nil else { return takeEndOfRange(of: transfer) }
    let areWhole = bytes.finishParts(transfer)
    return areWhole ? nil : transfer.failure(.ok, easy)
  }

  /// What follows if the response was a part of the body. Returns an error if the rest is not asked for.
  private func takeEndOfRange(of transfer: Transfer) -> TransferError? {
    switch transfer.machine.ranges.end() {
    case .whole: return nil
    case .short: return transfer.restIsMissing
    case .next:
      transfer.machine.course.send(transfer.request)
      return nil
    }
  }
}
