internal import Curl
internal import EngineAPI
internal import TransferModel

/// What the delegate's answers to a transfer's questions lead to.
final class TransferDecisions {
  private let context: TransferContext
  private let delivery: ResponseDelivery
  private let challenges: TransferChallenges
  private let handshakes: TransferHandshakes
  private let bytes: ByteReceiver

  init(
    _ context: TransferContext, _ delivery: ResponseDelivery, _ challenges: TransferChallenges,
    _ handshakes: TransferHandshakes, _ bytes: ByteReceiver
  ) {
    self.context = context
    self.delivery = delivery
    self.challenges = challenges
    self.handshakes = handshakes
    self.bytes = bytes
  }

  /// - Parameter transfer: nil: it has ended.
  func answer(_ transfer: Transfer?, _ question: Int, _ answer: TransferAnswer) -> TransferAction {
    guard let transfer else {
      drop(answer)
      return .wait
    }
    switch transfer.machine.take(answer, to: question, about: transfer.asked) {
    case .follow: return transfer.followNext()
    case .accept:
      if let head = transfer.answer.head { delivery.accept(head, transfer) }
      return transfer.goOn()
    case .challenge(let answer, let side): return challenges.answer(transfer, side, answer)
    case .handshake(let answer): handshakes.answer(transfer, answer)
    case .allow(let download):
      if let download { becomeDownload(transfer, download) }
      return bytes.passWaitingParts(transfer)
    case .store(let policy, let headers):
      (transfer.caching.storagePolicy, transfer.caching.storedHeaders) = (policy, headers)
      return transfer.goOn()
    case .send(let body, let behindHandshake): return send(body, behindHandshake, transfer)
    case .fail(let error): return .abort(error)
    case .drop: drop(answer)
    }
    return .wait
  }

  private func drop(_ answer: TransferAnswer) {
    // Tells a client that is still sending to stop.
    if case .bodyStream(let body) = answer { body.token?.detach() }
  }

  /// Takes the body that the request waits for.
  private func send(
    _ body: BodyReference, _ behindHandshake: Bool, _ transfer: Transfer
  ) -> TransferAction {
    guard let stream = body.token as? UploadStream else {
      assertionFailure("a body of another kind")
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
    transfer.answer.live?.end(.failed)
    transfer.answer.live = nil
    // The parts of a multipart answer that came before were the data task's.
    guard transfer.answer.multipart != nil, let sink = transfer.sink else { return }
    sink.discard()
    transfer.flow.receive.remove(.downstream)
    transfer.sink = delivery.makeSink(transfer)
    transfer.noteProgress()
  }
}
