internal import Curl
internal import EngineAPI
internal import TransferModel

/// The stage that sends requests: the first of a task and those that follow.
final class RequestSender {
  private let context: TransferContext
  private let wire: EasyHandleAttachment
  private let serving: CacheResponder
  private let challenges: ChallengeHandler
  private let handshakes: HandshakeHandler
  private let files: TransferFileLoader
  /// Handles the end of a request (`RequestFinisher.completed`).
  private let completed: (Transfer, MultiHandle.Completion) -> TransferAction

  init(
    _ context: TransferContext, _ wire: EasyHandleAttachment, _ serving: CacheResponder,
    _ challenges: ChallengeHandler, _ handshakes: HandshakeHandler, _ files: TransferFileLoader,
    completed: @escaping (Transfer, MultiHandle.Completion) -> TransferAction
  ) {
    self.context = context
    self.wire = wire
    self.serving = serving
    self.challenges = challenges
    self.handshakes = handshakes
    self.files = files
    self.completed = completed
  }

  /// Sends the next request of a transfer that has a slot, unless the cache answers it or a file or token must be prepared first.
  func send(_ transfer: Transfer) -> TransferAction {
    if let answered = serving.answer(transfer) { return answered }
    do {
      try challenges.prepareRoute(transfer)
      if let side = transfer.machine.authenticator.sideThatNeedsToken {
        challenges.waitForToken(transfer, side)
        return .wait
      }
      transfer.prepareSource()
      let need = files.need(of: transfer)
      guard need.isNothing else {
        files.open(need, of: transfer)
        return .wait
      }
      context.sessions.noteBusy(transfer.job.session)
      try wire.start(transfer, on: try transport(of: transfer))
      return .wait
    } catch {
      context.sessions.noteIdle(transfer.job.session)
      return .finish(Self.failure(error, of: transfer))
    }
  }

  private static func failure(_ error: any Error, of transfer: Transfer) -> TransferError {
    switch error {
    case let error as TransferError: error
    case let error as CurlError where error.result == .outOfMemory:
      TransferError(
        .cannotConnectToHost, "the process has no free file descriptor for a connection",
        failingURL: transfer.request.url,
        underlying: .init(library: "libcurl", code: error.result.code))
    default: TransferError(.unknown, "libcurl: \(error)", failingURL: transfer.request.url)
    }
  }

  private func transport(of transfer: Transfer) throws -> CurlTransport {
    do {
      return try openTransport(of: transfer)
    } catch {
      // Idle connections may hold descriptors.
      context.sessions.closeIdle()
      return try openTransport(of: transfer)
    }
  }

  private func openTransport(of transfer: Transfer) throws -> CurlTransport {
    let lane = EngineSession.ConnectionClass(
      classes: context.settings.networks.lane(of: transfer.allowedClasses),
      codePoint: transfer.networkServiceType.codePoint, asksForTrust: transfer.job.asksForTrust,
      asksForCertificate: transfer.job.asksForCertificate)
    return try transfer.session.transport(on: context.loop, in: lane) { [unowned self] completion in
      guard let transfer = completion.easy.delegate as? Transfer else { return }
      context.perform(completed(transfer, completion), transfer)
    } held: { [unowned self] in
      handshakes.held($0, $1, $2)
    }
  }

  // MARK: Further requests

  /// Leaves an unneeded response that takes too long to end.
  func cut(_ transfer: Transfer) -> TransferAction {
    let next = transfer.machine.cut
    if next != .wait { wire.leave(transfer) }
    return next
  }

  /// - Parameter connectsFirst: Whether the body may wait for the challenges of its connection.
  func sendNext(
    _ transfer: Transfer, _ request: TransferRequest, connectsFirst: Bool
  ) -> TransferAction {
    // The next body needs the same draft key.
    if let sink = transfer.sink, sink.isFile, !transfer.machine.ranges.isOpen {
      transfer.sink = nil
      discard(sink, of: transfer, thenSend: request)
      return .wait
    }
    let url: CurlURL
    do throws(CurlURL.Fault) {
      url = try CurlURL(request.url)
    } catch {
      return .finish(
        TransferError(.badURL, "the redirect leads to a malformed URL", failingURL: request.url))
    }
    if let fault = request.bodyFault { return .finish(fault) }
    transfer.prepare(request, at: url, mayConnectFirst: connectsFirst)
    transfer.machine.lifecycle.park()
    context.leaveQueue(transfer.task)
    return request.body?.isStream == true && !transfer.connectsBeforeBody ? .askForBody : .queue
  }

  private func discard(_ sink: BodySink, of transfer: Transfer, thenSend request: TransferRequest) {
    transfer.machine.lifecycle.wait(for: .files)
    context.leaveQueue(transfer.task)
    let goesOn = TransferLoopMailbox.Command.resume(transfer.task) { transfer in
      guard transfer.machine.lifecycle.stopWaiting(for: .files) else { return .wait }
      return transfer.machine.lifecycle.endOnceOpened ?? .sendNext(request)
    }
    sink.discard { [mailbox = context.mailbox] in mailbox.post(goesOn) }
  }

  func askForBody(_ transfer: Transfer) {
    transfer.machine.lifecycle.wait(for: .bodyStream(behindHandshake: false))
    transfer.ask(.bodyStream)
    context.reportFacts(transfer)
  }
}
