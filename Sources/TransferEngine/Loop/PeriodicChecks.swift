internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// Periodic work: timeouts, progress reports, and facts that clients need before a task ends.
final class PeriodicChecks {
  private let context: TransferContext
  private let wire: EasyHandleAttachment
  private let sender: RequestSender
  private let keeping: CacheStorer
  private static let housekeepingInterval = Duration.milliseconds(50)
  private static let progressEvery = 5
  private var isUnderWay = false
  private var ticks = 0

  init(
    _ context: TransferContext, _ wire: EasyHandleAttachment, _ sender: RequestSender, _ keeping: CacheStorer
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
    // Off the wire only the resource timeout runs, so a longer interval is enough for these transfers, of which there may be many.
    guard wire.isBusy || isProgressTick else { return context.transfers.isEmpty ? () : start() }
    wire.isBusy = false
    for transfer in context.transfers.values where !transfer.state.isFinishing {
      if transfer.state.isOnWire {
        wire.isBusy = true
        inspect(transfer, at: now, isProgressTick)
      } else if !isProgressTick, transfer.facts.isEmpty {
        continue
      }
      context.reportFacts(transfer)
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
    if let source = transfer.source, let length = source.length, transfer.sent >= length { source.markSent() }
    guard !transfer.clock.mustCut(at: now) else {
      return context.perform(sender.cut(transfer), transfer)
    }
    if transfer.received.live != nil || isProgressTick { transfer.sink?.flushPartialChunk(transfer.drained) }
  }

  /// Returns the error of a timeout that has passed; `nil` if none has.
  private func timeout(of transfer: Transfer, at now: ContinuousClock.Instant) -> TransferError? {
    guard !transfer.state.isFinishing else { return nil }
    let flow = transfer.flow
    let isFlowing = flow.directions.isEmpty
    let state = TransferClock.State(
      isOnWire: transfer.state.isOnWire, isHeld: transfer.waitReason != nil, isSuspended: flow.isSuspended,
      isFlowing: isFlowing,
      waitsForClient: flow.receive.isEmpty && flow.send == .source && transfer.source is UploadStream,
      mayWaitForOthers: !transfer.connectionProgress.isPastConnect && transfer.session.heldHandshakes > 0)
    let timeout = transfer.request.timeoutInterval ?? transfer.job.configuration.timeoutIntervalForRequest
    let message: String
    switch transfer.clock.timeout(at: now, idle: .seconds(timeout), state) {
    case nil: return nil
    case .resource:
      return TransferError(
        .timedOut, "timeoutIntervalForResource has passed", failingURL: transfer.request.url)
    case .idle: message = "no byte moved for timeoutIntervalForRequest"
    case .bodyStalled: message = "no byte of the body arrived for timeoutIntervalForRequest"
    }
    return TransferError(
      .timedOut, message, failingURL: transfer.request.url,
      underlying: .init(library: "libcurl", code: CurlResult.operationTimedOut.code))
  }
}
