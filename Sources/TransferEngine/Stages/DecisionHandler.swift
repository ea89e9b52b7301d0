internal import Curl
internal import EngineAPI
internal import TransferModel

/// The stage that carries out the delegate's answers.
final class DecisionHandler {
  private let context: TransferContext
  private let delivery: ResponseDelivery
  private let challenges: ChallengeHandler
  private let handshakes: HandshakeHandler
  private let bytes: ByteReceiver

  init(
    _ context: TransferContext, _ delivery: ResponseDelivery, _ challenges: ChallengeHandler,
    _ handshakes: HandshakeHandler, _ bytes: ByteReceiver
  ) {
    self.context = context
    self.delivery = delivery
    self.challenges = challenges
    self.handshakes = handshakes
    self.bytes = bytes
  }

  /// - Parameter transfer: `nil` if the transfer has ended.
  func answer(_ transfer: Transfer?, _ question: Int, _ answer: TransferAnswer) -> TransferAction {
    guard let transfer else {
      drop(answer)
      return .wait
    }
    switch transfer.machine.answerAction(answer, to: question, about: transfer.asked) {
    case .follow: return transfer.sendNextRequest()
    case .accept:
      if let head = transfer.received.head { delivery.deliver(head, transfer) }
      return transfer.resume()
    case .challenge(let answer, let side): return challenges.answer(transfer, side, answer)
    case .handshake(let answer): handshakes.answer(transfer, answer)
    case .allow(let download):
      if let download { becomeDownload(transfer, download) }
      return bytes.passWaitingParts(transfer)
    case .store(let policy, let headers):
      (transfer.caching.storagePolicy, transfer.caching.storedHeaders) = (policy, headers)
      return transfer.resume()
    case .send(let body, let behindHandshake): return send(body, behindHandshake, transfer)
    case .fail(let error): return .abort(error)
    case .drop: drop(answer)
    }
    return .wait
  }

  private func drop(_ answer: TransferAnswer) {
    // Makes a client stop that is still sending.
    if case .bodyStream(let body) = answer { body.token?.cancel() }
  }

  /// Uses the body that the request waits for.
  private func send(
    _ body: BodyReference, _ behindHandshake: Bool, _ transfer: Transfer
  ) -> TransferAction {
    guard let stream = body.token as? UploadStream else {
      assertionFailure("unexpected kind of body")
      return .wait
    }
    transfer.source = stream
    guard stream.fault == nil else { return .abort(transfer.failure(.abortedByCallback, nil)) }
    let task = transfer.task
    stream.onReady { [mailbox = context.mailbox] in mailbox.post(.uploadReady(task)) }
    return behindHandshake ? handshakes.send(transfer) : .proceed
  }

  private func becomeDownload(_ transfer: Transfer, _ task: TaskID) {
    context.setLiveBody(nil, of: transfer.task)
    context.rename(transfer, to: task)
    transfer.job.kind = .download
    transfer.received.live?.end(.failed)
    transfer.received.live = nil
    // The earlier parts of a multipart response belong to the data task.
    guard transfer.received.multipart != nil, let sink = transfer.sink else { return }
    sink.discard()
    transfer.flow.receive.remove(.downstream)
    transfer.sink = delivery.makeSink(transfer)
    transfer.noteProgress()
  }
}
