internal import Curl
internal import EventLoop
internal import TransferModel

/// From one request of a task to the next.
final class TransferSteps: WorkerPart {
  /// Goes on with a transfer that is off the wire and waits for nothing any more.
  func proceed(_ transfer: Transfer) {
    switch transfer.machine.course.step(hasDelivery: transfer.delivery != nil) {
    case .wait: break
    case .send(let next): sendNext(transfer, next)
    case .deliver: worker.serving.deliver(transfer)
    case .settle(let end): worker.endings.settle(transfer, end.error)
    case .queue: worker.enqueue(transfer)
    }
  }

  /// Nothing was sent yet: the token was wanted beforehand. Its place in the queue is still its own.
  func sendAtLast(_ transfer: Transfer) {
    transfer.machine.course.decided()
    if transfer.flow.isSuspended { worker.leaveQueue(transfer.task) } else { worker.wire.send(transfer) }
  }

  /// The redirect's answer takes too long to end: leaves it.
  func cut(_ transfer: Transfer) {
    switch transfer.machine.cut {
    case .nothing: break
    case .answer(let stored):
      worker.wire.leave(transfer)
      worker.keeping.answerInstead(transfer, stored)
    case .send(let next):
      worker.wire.leave(transfer)
      sendNext(transfer, next)
    }
  }

  /// - Parameter connectsFirst: its body may wait for the challenges of its connection.
  func sendNext(_ transfer: Transfer, _ request: TransferRequest, connectsFirst: Bool = true) {
    // Its draft would be the next body's.
    if let sink = transfer.sink, sink.isFile, !transfer.machine.ranges.isOpen {
      transfer.sink = nil
      return discard(sink, of: transfer, thenSend: request)
    }
    let url: CurlURL
    do throws(CurlURL.Fault) {
      url = try CurlURL(request.url)
    } catch {
      return worker.endings.finish(
        transfer, with: TransferError(.badURL, "redirected to a malformed URL", failingURL: request.url))
    }
    if let fault = request.bodyFault { return worker.endings.finish(transfer, with: fault) }
    transfer.prepare(request, at: url, mayConnectFirst: connectsFirst)
    transfer.machine.course.park()
    worker.leaveQueue(transfer.task)
    guard request.body?.isStream != true || transfer.connectsFirst else { return askForBody(transfer) }
    worker.enqueue(transfer)
  }

  private func discard(_ sink: BodySink, of transfer: Transfer, thenSend request: TransferRequest) {
    transfer.machine.course.wait(for: .files)
    worker.leaveQueue(transfer.task)
    let task = transfer.task
    sink.discard { [mailbox = worker.mailbox, weak worker] in
      mailbox.post(
        .run { [weak worker] in
          guard let worker, let transfer = worker.transfer(task),
            transfer.machine.course.stopWaiting(for: .files)
          else { return }
          if !worker.endings.finishIfEnded(transfer) { worker.steps.sendNext(transfer, request) }
        })
    }
  }

  func askForBody(_ transfer: Transfer) {
    transfer.machine.course.wait(for: .bodyStream(behindHandshake: false))
    transfer.ask(.bodyStream)
    worker.tell(transfer)
  }
}
