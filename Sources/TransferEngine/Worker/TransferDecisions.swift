internal import Curl
internal import EventLoop
internal import TransferModel

/// What the delegate's answers to a transfer's questions lead to.
final class TransferDecisions: WorkerPart {
  func answer(_ task: TaskID, _ question: Int, _ answer: TransferAnswer) {
    guard let transfer = worker.transfer(task) else { return drop(answer) }
    switch transfer.machine.take(answer, to: question, about: transfer.asked) {
    case .follow: goAfter(transfer)
    case .accept:
      if let head = transfer.head { worker.heads.accept(head, transfer) }
      goOn(transfer)
    case .challenge(let answer, let side): worker.challenges.answer(transfer, side, answer)
    case .handshake(let answer): worker.handshakes.answer(transfer, answer)
    case .allow(let download):
      if let download { becomeDownload(transfer, download) }
      passParts(transfer)
    case .store(let policy, let headers):
      (transfer.storagePolicy, transfer.storedHeaders) = (policy, headers)
      goOn(transfer)
    case .send(let body, let behindHandshake): send(body, behindHandshake, transfer)
    case .fail(let error): worker.endings.abort(transfer, error)
    case .drop: drop(answer)
    }
  }

  private func drop(_ answer: TransferAnswer) {
    // A client that still sends is told that nobody wants it.
    if case .bodyStream(let body) = answer { (body.token as? UploadStream)?.detach() }
  }

  /// The body is here that the request waits for.
  private func send(_ body: BodyReference, _ behindHandshake: Bool, _ transfer: Transfer) {
    guard let stream = body.token as? UploadStream else { return assertionFailure("a body of another kind") }
    transfer.source = stream
    guard stream.fault == nil else {
      return worker.endings.abort(transfer, transfer.failure(.abortedByCallback, nil))
    }
    let task = transfer.task
    stream.onReady { [mailbox = worker.mailbox] in mailbox.post(.uploadReady(task)) }
    if behindHandshake { worker.handshakes.send(transfer) } else { worker.steps.proceed(transfer) }
  }

  /// Delivers the buffered parts of a multipart response and resumes the transfer.
  func passParts(_ transfer: Transfer) {
    guard worker.bytes.passParts(transfer) else {
      return worker.endings.abort(
        transfer,
        TransferError(.bodyTooLarge, "the body is larger than allowed", failingURL: transfer.request.url))
    }
    goOn(transfer)
  }

  /// After an answer: lets libcurl go on, or ends what libcurl has ended already.
  func goOn(_ transfer: Transfer) {
    worker.tell(transfer)
    transfer.touch()
    worker.flow.move(transfer, transfer.machine.course.move)
  }

  private func becomeDownload(_ transfer: Transfer, _ task: TaskID) {
    worker.setLiveBody(nil, of: transfer.task)
    worker.rename(transfer, to: task)
    transfer.job.kind = .download
    transfer.live?.end(.failed)
    transfer.live = nil
    // The parts of a multipart answer that came before were the data task's.
    guard transfer.multipart != nil, let sink = transfer.sink else { return }
    sink.discard()
    transfer.flow.receive.remove(.downstream)
    transfer.sink = worker.heads.makeSink(transfer)
    transfer.noteProgress()
  }

  /// Another request goes out in place of the one whose answer is held.
  func follow(_ transfer: Transfer, _ request: TransferRequest) {
    transfer.machine.course.decided()
    transfer.machine.course.send(request)
    goAfter(transfer)
  }

  /// What was held leads to another request.
  private func goAfter(_ transfer: Transfer) {
    // What is left of the redirect's own body may end quickly; else its connection goes.
    if transfer.state.isOnWire { transfer.clock.cutSoon(at: .now) }
    worker.flow.move(transfer, transfer.machine.course.move)
  }
}
