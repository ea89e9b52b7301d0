internal import Curl
internal import EngineAPI
internal import TransferModel

/// Sends requests: the first of a task, and those that follow.
final class RequestSender {
  private let context: TransferContext
  private let wire: TransferWire
  private let serving: CacheServing
  private let challenges: TransferChallenges
  private let handshakes: TransferHandshakes
  private let files: TransferFiles
  /// Takes the end of a request (`RequestCompletion.completed`).
  private let completed: (Transfer, MultiHandle.Completion) -> TransferAction

  init(
    _ context: TransferContext, _ wire: TransferWire, _ serving: CacheServing,
    _ challenges: TransferChallenges, _ handshakes: TransferHandshakes, _ files: TransferFiles,
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

  /// Sends the next request of a transfer that has a slot, unless the cache answers it, or something must be there first.
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
        .cannotConnectToHost, "no descriptor is left for a connection", failingURL: transfer.request.url,
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
    let lane = WorkerSession.Lane(
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

  // MARK: From request to request

  /// Leaves an unneeded answer that takes too long to end.
  func cut(_ transfer: Transfer) -> TransferAction {
    let next = transfer.machine.cut
    if next != .wait { wire.leave(transfer) }
    return next
  }

  /// - Parameter connectsFirst: its body may wait for the challenges of its connection.
  func sendNext(
    _ transfer: Transfer, _ request: TransferRequest, connectsFirst: Bool
  ) -> TransferAction {
    // Its draft would be the next body's.
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
        TransferError(.badURL, "redirected to a malformed URL", failingURL: request.url))
    }
    if let fault = request.bodyFault { return .finish(fault) }
    transfer.prepare(request, at: url, mayConnectFirst: connectsFirst)
    transfer.machine.course.park()
    context.leaveQueue(transfer.task)
    return request.body?.isStream == true && !transfer.connectsFirst ? .askForBody : .queue
  }

  private func discard(_ sink: BodySink, of transfer: Transfer, thenSend request: TransferRequest) {
    transfer.machine.course.wait(for: .files)
    context.leaveQueue(transfer.task)
    let goesOn = WorkerMailbox.Command.goOn(transfer.task) { transfer in
      guard transfer.machine.course.stopWaiting(for: .files) else { return .wait }
      return transfer.machine.course.endOnceOpened ?? .sendNext(request)
    }
    sink.discard { [mailbox = context.mailbox] in mailbox.post(goesOn) }
  }

  func askForBody(_ transfer: Transfer) {
    transfer.machine.course.wait(for: .bodyStream(behindHandshake: false))
    transfer.ask(.bodyStream)
    context.tell(transfer)
  }
}
