internal import EventLoop
internal import TransferModel

/// Timeouts, facts that are worth telling before the end, and now and then progress.
extension TransferWorker {
  private static let housekeepingInterval = Duration.milliseconds(50)
  private static let progressEvery = 5

  func startHousekeeping() {
    guard !isHousekeeping else { return }
    isHousekeeping = true
    loop.schedule(at: .now + Self.housekeepingInterval) { [weak self] in self?.keepHouse() }
  }

  private func keepHouse() {
    isHousekeeping = false
    ticks += 1
    let now = ContinuousClock.now
    let isProgressTick = ticks.isMultiple(of: Self.progressEvery)
    // Off the wire only the resource's clock runs: there may be many such, and it is enough to look now and then.
    guard hasWire || isProgressTick else { return transfers.isEmpty ? () : startHousekeeping() }
    hasWire = false
    for transfer in transfers.values where transfer.stage != .finishing {
      if transfer.stage == .onWire {
        hasWire = true
        inspect(transfer, at: now, isProgressTick)
      } else if !isProgressTick, transfer.facts.isEmpty {
        continue
      }
      facts += transfer.takeFacts()
      if let timeout = transfer.timeout(at: now), !isAnsweredInstead(transfer, timeout, at: now) {
        abort(transfer, timeout)
      }
    }
    if !transfers.isEmpty { startHousekeeping() }
  }

  private func inspect(_ transfer: Transfer, at now: ContinuousClock.Instant, _ isProgressTick: Bool) {
    if isProgressTick {
      transfer.noteResponse()
      transfer.noteProgress()
    }
    if let source = transfer.source, let length = source.length, transfer.sent >= length { source.wasSent() }
    if let cutAt = transfer.cutAt, now >= cutAt { return cut(transfer) }
    if transfer.live != nil || isProgressTick { transfer.sink?.flushSlow(transfer.drained) }
  }
}
