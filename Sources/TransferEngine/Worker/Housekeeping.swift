internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// Timeouts, facts that are worth telling before the end, and now and then progress.
final class Housekeeping {
  private let context: TransferContext
  private let wire: TransferWire
  private let sender: RequestSender
  private let keeping: CacheKeeping
  private static let housekeepingInterval = Duration.milliseconds(50)
  private static let progressEvery = 5
  private var isUnderWay = false
  private var ticks = 0

  init(
    _ context: TransferContext, _ wire: TransferWire, _ sender: RequestSender, _ keeping: CacheKeeping
  ) {
    self.context = context
    self.wire = wire
    self.sender = sender
    self.keeping = keeping
  }

  func start() {
    guard !isUnderWay else { return }
    isUnderWay = true
    context.loop.schedule(at: .now + Self.housekeepingInterval) { [weak self] in self?.keepHouse() }
  }

  private func keepHouse() {
    isUnderWay = false
    ticks += 1
    let now = ContinuousClock.now
    let isProgressTick = ticks.isMultiple(of: Self.progressEvery)
    // Off the wire only the resource's clock runs: there may be many such, and it is enough to look now and then.
    guard wire.isBusy || isProgressTick else { return context.transfers.isEmpty ? () : start() }
    wire.isBusy = false
    for transfer in context.transfers.values where !transfer.state.isFinishing {
      if transfer.state.isOnWire {
        wire.isBusy = true
        inspect(transfer, at: now, isProgressTick)
      } else if !isProgressTick, transfer.facts.isEmpty {
        continue
      }
      context.tell(transfer)
      if let timeout = timeout(of: transfer, at: now) {
        context.perform(keeping.timedOut(transfer, timeout, at: now), transfer)
      }
    }
    if !context.transfers.isEmpty { start() }
  }

  private func inspect(_ transfer: Transfer, at now: ContinuousClock.Instant, _ isProgressTick: Bool) {
    if isProgressTick {
      transfer.noteResponse()
      transfer.noteProgress()
    }
    if let source = transfer.source, let length = source.length, transfer.sent >= length { source.wasSent() }
    guard !transfer.clock.mustCut(at: now) else {
      return context.perform(sender.cut(transfer), transfer)
    }
    if transfer.answer.live != nil || isProgressTick { transfer.sink?.flushSlow(transfer.drained) }
  }

  /// Why a transfer must end now, where a clock ran out.
  private func timeout(of transfer: Transfer, at now: ContinuousClock.Instant) -> TransferError? {
    guard !transfer.state.isFinishing else { return nil }
    let flow = transfer.flow
    let isFlowing = flow.directions.isEmpty
    let state = TransferClock.State(
      isOnWire: transfer.state.isOnWire, isHeld: transfer.hold != nil, isSuspended: flow.isSuspended,
      isFlowing: isFlowing,
      waitsForClient: flow.receive.isEmpty && flow.send == .source && transfer.source is UploadStream,
      mayWaitForOthers: !transfer.contact.isPastConnect && transfer.session.heldHandshakes > 0)
    let timeout = transfer.request.timeoutInterval ?? transfer.job.configuration.timeoutIntervalForRequest
    let message: String
    switch transfer.clock.verdict(at: now, idle: .seconds(timeout), state) {
    case nil: return nil
    case .resource:
      return TransferError(
        .timedOut, "timeoutIntervalForResource has passed", failingURL: transfer.request.url)
    case .noByteMoved: message = "no byte moved for timeoutIntervalForRequest"
    case .noByteOfTheBody: message = "no byte of the body came for timeoutIntervalForRequest"
    }
    return TransferError(
      .timedOut, message, failingURL: transfer.request.url,
      underlying: .init(library: "libcurl", code: CurlResult.operationTimedOut.code))
  }
}
