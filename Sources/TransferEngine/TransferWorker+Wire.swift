internal import Curl
internal import EventLoop
internal import TransferModel

/// Requests on their way to libcurl and back, and the connections of sessions.
extension TransferWorker {
  func send(_ transfer: Transfer) {
    guard !isServedByCache(transfer) else { return }
    do {
      try prepareRoute(transfer)
      if let side = transfer.sideThatNeedsToken { return waitForToken(transfer, side) }
      guard hasFiles(transfer) else { return }
      idleSessions.remove(transfer.session.id)
      let transport = try transport(of: transfer)
      let easy = try handles.take()
      transfer.easy = easy
      transfer.session.handlesInUse += 1
      transfer.transport = transport
      try configurator.configure(easy, for: transfer, multi: transport.multi)
      transfer.stage = .onWire
      hasWire = true
      transfer.touch()
      transfer.isUnanswered = false
      if !transfer.isTryingAgain { transfer.facts.append(.began(transfer.task, at: transfer.fetchStart)) }
      try transport.add(easy)
    } catch let error as TransferError {
      finish(transfer, with: error)
      noteIdle(transfer.session)
    } catch let error as CurlError where error.result == .outOfMemory {
      noteIdle(transfer.session)
      finish(
        transfer,
        with: TransferError(
          .cannotConnectToHost, "no descriptor is left for a connection", failingURL: transfer.request.url,
          underlying: .init(library: "libcurl", code: error.result.code)))
    } catch {
      noteIdle(transfer.session)
      finish(transfer, with: TransferError(.unknown, "libcurl: \(error)", failingURL: transfer.request.url))
    }
  }

  private func transport(of transfer: Transfer) throws -> CurlTransport {
    do {
      return try openTransport(of: transfer)
    } catch {
      // Others that do nothing have what is lacking.
      closeIdleSessions()
      return try openTransport(of: transfer)
    }
  }

  private func openTransport(of transfer: Transfer) throws -> CurlTransport {
    let lane = WorkerSession.Lane(
      classes: settings.networks.lane(of: transfer.allowedClasses),
      codePoint: transfer.networkServiceType.codePoint, asksForTrust: transfer.job.asksForTrust,
      asksForCertificate: transfer.job.asksForCertificate)
    return try transfer.session.transport(on: loop, in: lane) { [unowned self] completion in
      guard let transfer = completion.easy.delegate as? Transfer else { return }
      completed(transfer, completion)
    } held: { [unowned self] in
      held($0, $1, $2)
    }
  }

  func forget(_ id: SessionID) {
    idleSessions.remove(id)
    guard let session = sessions.removeValue(forKey: id) else { return }
    abandonRevalidations(of: session)
    session.retireConnections()
    closing.removeAll(where: \.isClosed)
    if !session.isClosed { closing.append(session) }
  }

  /// Takes the handle from a transfer whose request is over.
  func reclaim(_ transfer: Transfer, isClean: Bool) {
    guard let easy = transfer.easy else { return }
    transfer.keepCounts()
    transfer.easy = nil
    easy.delegate = nil
    if isClean { handles.give(easy) }
    transfer.session.handlesInUse -= 1
    noteIdle(transfer.session)
  }

  // MARK: Idle sessions

  /// A session without a transfer on the wire gives its connections back after a while, or when there are many such.
  private func noteIdle(_ session: WorkerSession) {
    guard session.handlesInUse == 0, session.descriptors > 0, sessions[session.id] === session else { return }
    idleSessions.insert(session.id, descriptors: session.descriptors, at: .now)
    // Not now: a multi handle is not closed while it tells of a completion.
    if idleSessions.areTooMany { post(.run { [weak self] in self?.closeOverdue() }) }
    watchIdle()
  }

  private func closeOverdue() {
    close(idleSessions.takeOverdue(at: .now))
    watchIdle()
  }

  private func watchIdle() {
    guard idleTimer == nil, let due = idleSessions.nextDeadline else { return }
    idleTimer = loop.schedule(at: due) { [weak self] in
      self?.idleTimer = nil
      self?.closeOverdue()
    }
  }

  /// Descriptors have become few.
  func closeIdleSessions() { close(idleSessions.takeAll()) }

  private func close(_ idle: [SessionID]) { for id in idle { sessions[id]?.retireConnections() } }

  func stop(_ done: @escaping @Sendable () -> Void) {
    for transfer in transfers.values { transfer.source?.detach() }
    for session in sessions.values + closing { session.closeNow() }
    sessions.removeAll()
    closing.removeAll()
    transfers.removeAll()
    handles.removeAll()
    if let idleTimer { loop.cancel(idleTimer) }
    done()
  }
}
