internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// The stage that pauses and resumes the flow of bytes.
final class FlowController {
  private let context: TransferContext

  init(_ context: TransferContext) { self.context = context }

  func suspend(_ transfer: Transfer) -> TransferAction {
    guard let next = transfer.machine.lifecycle.suspend() else { return .wait }
    transfer.clock.suspend(at: .now)
    return next
  }

  func resume(_ transfer: Transfer) -> TransferAction {
    guard let next = transfer.machine.lifecycle.resume() else { return .wait }
    transfer.clock.resume(at: .now)
    if transfer.waitReason == .connectivity, next == .proceed {
      transfer.noteWaitingForConnectivity()
      context.reportFacts(transfer)
    }
    return next
  }

  func release(
    _ transfer: Transfer, receive: FlowControl.Reasons = [], send: FlowControl.Reasons = []
  ) {
    let before = transfer.flow
    transfer.flow.receive.subtract(receive)
    transfer.flow.send.subtract(send)
    guard transfer.flow != before else { return }
    transfer.touch()
    if transfer.flow.directions != before.directions { transfer.applyFlow() }
  }

  func holdForRate(_ transfer: Transfer, _ directions: FlowDirections, _ delay: Duration) {
    context.loop.schedule(at: .now + delay) { [weak self, weak transfer] in
      guard let self, let transfer else { return }
      release(
        transfer, receive: directions.contains(.receive) ? .rate : [],
        send: directions.contains(.send) ? .rate : [])
    }
  }

  /// Resumes the transfer after the other ready transfers have run.
  func pauseForTimeSlice(_ transfer: Transfer) {
    context.loop.schedule(at: .now) { [weak self, weak transfer] in
      guard let self, let transfer else { return }
      release(transfer, receive: .timeSlice)
    }
  }

  func setLimit(_ rate: Int?, of transfer: Transfer) {
    transfer.job.maximumBytesPerSecond = rate
    transfer.limits.setOwn(rate, at: .now)
    release(transfer, receive: .rate, send: .rate)
  }
}
