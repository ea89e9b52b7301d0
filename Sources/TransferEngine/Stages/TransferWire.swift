internal import Curl
internal import EngineAPI
internal import TransferModel

/// Adds and removes the easy handles of transfers.
final class TransferWire {
  private let context: TransferContext
  let configurator: RequestConfigurator
  private let handles: EasyHandlePool
  /// Whether a transfer was on the wire since housekeeping ran.
  var isBusy = false

  init(_ context: TransferContext) {
    self.context = context
    configurator = RequestConfigurator(userAgent: context.settings.userAgent)
    handles = EasyHandlePool(maximumIdle: context.settings.maximumIdleHandles)
  }

  func close() { handles.removeAll() }

  /// Gives a transfer a handle, and puts it on the wire.
  func start(_ transfer: Transfer, on transport: CurlTransport) throws {
    let easy = try handles.take()
    transfer.easy = easy
    transfer.session.handlesInUse += 1
    transfer.transport = transport
    try configurator.configure(easy, for: transfer, multi: transport.multi)
    transfer.machine.course.goOnWire()
    isBusy = true
    transfer.touch()
    transfer.contact.begin()
    // A further range keeps the counts.
    if !transfer.contact.isTryingAgain, !transfer.machine.ranges.isOpen { transfer.noteBegan() }
    try transport.add(easy)
  }

  /// Takes the handle from a transfer whose request is over.
  func reclaim(_ transfer: Transfer, isClean: Bool) {
    guard let easy = transfer.easy else { return }
    transfer.keepCounts()
    transfer.easy = nil
    easy.delegate = nil
    if isClean { handles.give(easy) }
    transfer.session.handlesInUse -= 1
    context.sessions.noteIdle(transfer.job.session)
  }

  /// Closes the record of the request that just ended.
  /// - Parameter isComplete: it ended with the end of its answer.
  func record(_ easy: EasyHandle, of transfer: Transfer, isComplete: Bool) {
    let record = TransactionRecord(
      request: transfer.request, status: transfer.answer.head?.status,
      isSecure: transfer.url.scheme == "https",
      fetchStart: transfer.fetchStart, end: context.settings.now(), isComplete: isComplete,
      sent: transfer.sent, received: transfer.sink?.size ?? 0, isProxied: transfer.proxy != nil)
    let networks = context.settings.networks
    transfer.transactions.append(record.metrics(easy) { networks.classes(ofLocal: $0) })
  }

  /// Takes a request off the wire before its end.
  func leave(_ transfer: Transfer) {
    guard transfer.state.isOnWire, let easy = transfer.easy else { return }
    transfer.machine.course.leave()
    // libcurl 7.88 leaks what a paused HTTP/2 stream has buffered unless it is offered once more (curl #10971).
    if !transfer.flow.directions.isEmpty { easy.setPaused([]) }
    let handshake = transfer.handshake
    if let handshake {
      endHandshake(transfer)
      handshake.decide(.refuse)
    } else {
      transfer.transport?.remove(easy)
    }
    record(easy, of: transfer, isComplete: false)
    reclaim(transfer, isClean: false)
    transfer.machine.course.park()
    if handshake != nil { transfer.transport?.abandon(easy) }
  }

  /// Releases the transfer's held handshake, if any.
  func endHandshake(_ transfer: Transfer) {
    guard transfer.machine.course.endHandshake() else { return }
    transfer.handshake = nil
    transfer.session.heldHandshakes -= 1
    // Restart the idle timeouts of transfers that waited to share it.
    guard transfer.job.configuration.httpShouldUsePipelining else { return }
    for other in context.transfers.values where other.session === transfer.session { other.touch() }
  }
}
