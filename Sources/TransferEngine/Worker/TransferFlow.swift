internal import Curl
internal import EventLoop
internal import TransferModel

/// What makes bytes move, stop and move again.
final class TransferFlow: WorkerPart {
  func suspend(_ transfer: Transfer) {
    guard let move = transfer.machine.course.suspend() else { return }
    transfer.clock.suspend(at: .now)
    self.move(transfer, move)
  }

  func resume(_ transfer: Transfer) {
    guard let move = transfer.machine.course.resume() else { return }
    transfer.clock.resume(at: .now)
    if transfer.hold == .connectivity, move == .proceed { worker.connectivity.tell(transfer) }
    self.move(transfer, move)
  }

  func move(_ transfer: Transfer, _ move: TransferCourse.Move) {
    switch move {
    case .nothing: break
    case .applyFlow: worker.wire.applyFlow(transfer)
    case .leaveQueue: worker.leaveQueue(transfer.task)
    case .proceed: worker.steps.proceed(transfer)
    }
  }

  // MARK: Holding and letting go

  func release(
    _ transfer: Transfer, receive: FlowControl.Reasons = [], send: FlowControl.Reasons = []
  ) {
    let before = transfer.flow
    transfer.flow.receive.subtract(receive)
    transfer.flow.send.subtract(send)
    guard transfer.flow != before else { return }
    transfer.touch()
    if transfer.flow.directions != before.directions { worker.wire.applyFlow(transfer) }
  }

  func roomDownstream(_ transfer: Transfer) {
    if transfer.hold == .parts, transfer.live?.askForPart() == true {
      transfer.machine.course.decided()
      worker.decisions.passParts(transfer)
    }
    transfer.sink?.drainEnded()
    guard transfer.sink?.isFull != true, transfer.live?.askForRoom() != false else { return }
    release(transfer, receive: .downstream)
    if transfer.delivery != nil { worker.serving.deliver(transfer) }
  }

  func holdForRate(_ transfer: Transfer, _ directions: FlowDirections, _ delay: Duration) {
    worker.loop.schedule(at: .now + delay) { [weak self, weak transfer] in
      guard let self, let transfer else { return }
      release(
        transfer, receive: directions.contains(.receive) ? .rate : [],
        send: directions.contains(.send) ? .rate : [])
    }
  }

  /// Resumes the transfer after the other ready transfers have run.
  func holdForTurn(_ transfer: Transfer) {
    worker.loop.schedule(at: .now) { [weak self, weak transfer] in
      guard let self, let transfer else { return }
      release(transfer, receive: .turn)
    }
  }

  func setLimit(_ rate: Int?, of transfer: Transfer) {
    transfer.job.maximumBytesPerSecond = rate
    transfer.limits.setOwn(rate, at: .now)
    release(transfer, receive: .rate, send: .rate)
  }
}
