internal import Curl
internal import EngineAPI
internal import TransferModel

/// Adds and removes the easy handles of transfers.
final class EasyHandleAttachment {
  private let context: TransferContext
  let configurator: RequestConfigurator
  private let handles: EasyHandlePool
  /// Whether a transfer was on the wire since `PeriodicChecks` ran.
  var isBusy = false

  init(_ context: TransferContext) {
    self.context = context
    configurator = RequestConfigurator(userAgent: context.settings.userAgent)
    handles = EasyHandlePool(maximumIdle: context.settings.maximumIdleHandles)
  }

  func close() { handles.removeAll() }

  /// Gives a transfer a handle and puts it on the wire.
  func start(_ transfer: Transfer, on transport: CurlTransport) throws {
    let easy = try handles.dequeue()
    transfer.easy = easy
    transfer.session.handlesInUse += 1
    transfer.transport = transport
    try configurator.configure(easy, for: transfer, multi: transport.multi)
    transfer.machine.lifecycle.enterWire()
    isBusy = true
    transfer.touch()
    transfer.connectionProgress.begin()
    // A further range keeps the counts.
    if !transfer.connectionProgress.isRestartAfterWait, !transfer.machine.ranges.isOpen {
      transfer.noteBegan()
    }
    try transport.add(easy)
  }

  /// Takes the handle from a transfer whose request is over.
  func reclaim(_ transfer: Transfer, isClean: Bool) {
    guard let easy = transfer.easy else { return }
    transfer.keepCounts()
    transfer.easy = nil
    easy.delegate = nil
    if isClean { handles.enqueue(easy) }
    transfer.session.handlesInUse -= 1
    context.sessions.noteIdle(transfer.job.session)
  }

  /// Records the metrics of a request that has just ended.
  /// - Parameter isComplete: Whether the request ended with the end of its response.
  func record(_ easy: EasyHandle, of transfer: Transfer, isComplete: Bool) {
    let record = TransactionRecord(
      request: transfer.request, status: transfer.received.head?.status,
      isSecure: transfer.url.scheme == "https",
      fetchStart: transfer.fetchStart, end: context.settings.now(), isComplete: isComplete,
      sent: transfer.sent, received: transfer.sink?.size ?? 0, isProxied: transfer.proxy != nil)
    let networks = context.settings.networks
    transfer.transactions.append(record.metrics(easy) { networks.classes(ofLocal: $0) })
  }

  /// Takes a request off the wire before its end.
  func leave(_ transfer: Transfer) {
    guard transfer.state.isOnWire, let easy = transfer.easy else { return }
    transfer.machine.lifecycle.discardRest()
    // libcurl 7.88 leaks the buffered bytes of a paused HTTP/2 stream unless the stream is resumed first (curl #10971).
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
    transfer.machine.lifecycle.park()
    if handshake != nil { transfer.transport?.abandon(easy) }
  }

  /// Releases the transfer's held handshake, if any.
  func endHandshake(_ transfer: Transfer) {
    guard transfer.machine.lifecycle.endHandshake() else { return }
    transfer.handshake = nil
    transfer.session.heldHandshakes -= 1
    // Restart the idle timeouts of transfers that waited to share the connection.
    guard transfer.job.configuration.httpShouldUsePipelining else { return }
    for other in context.transfers.values where other.session === transfer.session { other.touch() }
  }
}
