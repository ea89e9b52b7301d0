internal import ContentCoding
internal import Curl
internal import EngineAPI
internal import TransferModel

/// The stage that receives the end of a request from libcurl and returns the next action.
final class RequestFinisher {
  private let context: TransferContext
  private let wire: EasyHandleAttachment
  private let heads: HeadReceiver
  private let bytes: ByteReceiver
  private let challenges: ChallengeHandler
  private let connectivity: ConnectivityWaiters

  init(
    _ context: TransferContext, _ wire: EasyHandleAttachment, _ heads: HeadReceiver, _ bytes: ByteReceiver,
    _ challenges: ChallengeHandler, _ connectivity: ConnectivityWaiters
  ) {
    self.context = context
    self.wire = wire
    self.heads = heads
    self.bytes = bytes
    self.challenges = challenges
    self.connectivity = connectivity
  }

  /// Handles a request that libcurl is done with.
  func completed(_ transfer: Transfer, _ completion: MultiHandle.Completion) -> TransferAction {
    let (easy, result) = (completion.easy, result(completion, of: transfer))
    wire.endHandshake(transfer)
    if let head = transfer.received.provisionalHead, transfer.received.head == nil {
      heads.handle(head, transfer)
    }
    let asked = challenges.proxyChallenges(to: transfer, result, easy)
    guard asked.isEmpty else {
      return challenges.handleProxyChallenges(transfer, result, easy, asked)
    }
    if transfer.connectsBeforeBody, transfer.lacksBody, transfer.connectionProgress.isConnected {
      // The handshake could not be held: ask for the body, then try again.
      wire.reclaim(transfer, isClean: false)
      return .sendNext(transfer.request, connectsFirst: false)
    }
    if transfer.connectionProgress.isPastConnect, transfer.machine.lifecycle.next == nil {
      heads.noteUploadVersion(of: transfer)
    }
    if isRepeated(transfer, result, easy) {
      wire.record(easy, of: transfer, isComplete: false)
      wire.reclaim(transfer, isClean: false)
      return .sendNext(transfer.request)
    }
    let isClean = result == .ok && transfer.received.head != nil
    let error = takeEnd(of: transfer, result, easy, isClean: isClean)
    if isClean, let source = transfer.source, source.length ?? transfer.sent <= transfer.sent {
      source.markSent()
    }
    transfer.noteProgress()
    wire.record(easy, of: transfer, isComplete: isClean)
    let easyErrno = easy.info(.osErrno)
    if easy.lacksDescriptor { context.sessions.closeIdle() }
    wire.reclaim(transfer, isClean: isClean && completion.result == .ok)
    return transfer.machine.wireEnded(
      error, status: transfer.received.head?.status, hasResponse: transfer.response != nil,
      lacksNetwork: connectivity.mustWait(transfer, error, easyErrno), at: context.settings.now())
  }

  /// Returns the request's result. A connection lost after the whole response is no error. Nor is one lost after the last chunk, before the
  /// trailer section ends (RFC 9112 §8).
  private func result(_ completion: MultiHandle.Completion, of transfer: Transfer) -> CurlResult {
    guard Self.isLoss(completion.result) else { return completion.result }
    let easy = completion.easy
    if easy.hasWholeResponse { return .ok }
    let isWhole =
      [.partialFile, .recvError].contains(completion.result) && transfer.received.chunks?.hasLastChunk == true
      && !easy.errorMessage.contains("chunk")
    return isWhole ? .ok : completion.result
  }

  /// Returns whether the connection or the stream was lost.
  private static func isLoss(_ result: CurlResult) -> Bool {
    [.recvError, .sendError, .partialFile, .http2, .http2Stream].contains(result)
  }

  /// Returns whether to repeat a lost request. Only safe repeats are allowed.
  private func isRepeated(_ transfer: Transfer, _ result: CurlResult, _ easy: EasyHandle) -> Bool {
    let course = transfer.machine.lifecycle
    guard result != .ok, course.next == nil, course.wireEnd == nil else { return false }
    var loss = ConnectionProgress.ConnectionLoss(isIdempotent: transfer.request.isIdempotent)
    switch result {
    // libcurl was about to repeat the request, which it does only after a kept connection or an unprocessed request.
    case .abortedByCallback where transfer.connectionProgress.refusesRepeat, .sendFailRewind:
      loss.wasKept = true
    case .recvError, .sendError, .partialFile: loss.wasKept = easy.info(.connectionsMade) == 0
    case .http2, .http2Stream: break
    default: return false
    }
    loss.isUnprocessed = easy.isUnprocessed
    return transfer.connectionProgress.connectionLost(loss)
  }

  /// Delivers the rest of the response. Returns the error; `nil` if the response is complete or another request follows.
  private func takeEnd(
    of transfer: Transfer, _ result: CurlResult, _ easy: EasyHandle, isClean: Bool
  ) -> TransferError? {
    if let end = transfer.machine.lifecycle.wireEnd { return end.error }
    guard transfer.machine.lifecycle.next == nil else { return nil }
    guard isClean else { return transfer.failure(result, easy) }
    if transfer.content.isTruncated {
      return RequestFailure.error(
        .malformed, hasResponse: transfer.response != nil, url: transfer.request.url)
    }
    guard transfer.received.multipart != nil else { return takeEndOfRange(of: transfer) }
    let areWhole = bytes.finishParts(transfer)
    return areWhole ? nil : transfer.failure(.ok, easy)
  }

  /// Handles the end of a partial response. Returns an error if the rest is not requested.
  private func takeEndOfRange(of transfer: Transfer) -> TransferError? {
    switch transfer.machine.ranges.end() {
    case .whole: return nil
    case .short: return transfer.restIsMissing
    case .next:
      transfer.machine.lifecycle.send(transfer.request)
      return nil
    }
  }
}
