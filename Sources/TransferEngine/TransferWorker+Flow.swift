internal import Curl
internal import EventLoop
internal import TransferModel

/// What makes bytes move, stop and move again.
extension TransferWorker {
  // MARK: Suspension

  func suspend(_ transfer: Transfer) {
    guard !transfer.flow.isSuspended, transfer.stage != .finishing else { return }
    transfer.flow.suspend()
    transfer.suspendedAt = .now
    switch transfer.stage {
    case .onWire: applyFlow(transfer)
    case .queued:
      transfer.stage = .parked
      leaveQueue(transfer.task)
    case .parked, .finishing: break
    }
  }

  func resume(_ transfer: Transfer) {
    guard transfer.flow.isSuspended else { return }
    transfer.flow.resume()
    // A suspended task has no timeouts: the clocks go on from where they stood.
    transfer.resourceDeadline += transfer.suspendedAt.duration(to: .now)
    transfer.touch()
    switch transfer.stage {
    case .onWire: applyFlow(transfer)
    case .parked:
      if case .connectivity = transfer.hold { tellOfWaiting(transfer) }
      proceed(transfer)
    case .queued, .finishing: break
    }
  }

  /// Goes on with a transfer that is off the wire and waits for nothing any more.
  func proceed(_ transfer: Transfer) {
    guard transfer.hold == nil, !transfer.flow.isSuspended else { return }
    if let next = transfer.next {
      sendNext(transfer, next)
    } else if transfer.delivery != nil {
      deliver(transfer)
    } else if let end = transfer.wireEnd {
      settle(transfer, end)
    } else {
      enqueue(transfer)
    }
  }

  // MARK: Holding and letting go

  func applyFlow(_ transfer: Transfer) {
    guard transfer.stage == .onWire, let easy = transfer.easy else { return }
    transfer.transport?.setPaused(easy, transfer.flow.directions)
  }

  func release(
    _ transfer: Transfer, receive: FlowControl.Reasons = [], send: FlowControl.Reasons = []
  ) {
    let before = transfer.flow
    transfer.flow.receive.subtract(receive)
    transfer.flow.send.subtract(send)
    guard transfer.flow != before else { return }
    transfer.touch()
    if transfer.flow.directions != before.directions { applyFlow(transfer) }
  }

  func roomDownstream(_ transfer: Transfer) {
    transfer.sink?.drainEnded()
    guard transfer.sink?.isFull != true, transfer.live?.mayGrow() != false else { return }
    release(transfer, receive: .downstream)
    if transfer.delivery != nil { deliver(transfer) }
  }

  func holdForRate(_ transfer: Transfer, _ directions: FlowDirections, _ delay: Duration) {
    loop.schedule(at: .now + delay) { [weak self, weak transfer] in
      guard let self, let transfer else { return }
      release(
        transfer, receive: directions.contains(.receive) ? .rate : [],
        send: directions.contains(.send) ? .rate : [])
    }
  }

  func setLimit(_ rate: Int?, of transfer: Transfer) {
    transfer.job.maximumBytesPerSecond = rate
    // A new bucket: what the old one owed at its own rate would be a long silence at a lower one.
    transfer.taskLimit = rate.map { TokenBucket(bytesPerSecond: $0, now: .now) }
    release(transfer, receive: .rate, send: .rate)
  }

  // MARK: Answers

  /// What answers an earlier question must not reach whoever asks now.
  func answer(_ task: TaskID, _ question: Int, _ answer: TransferAnswer) {
    guard let transfer = transfer(task), question == transfer.job.questions else {
      return drop(answer)
    }
    self.answer(transfer, answer)
  }

  private func drop(_ answer: TransferAnswer) {
    // A client that still sends is told that nobody wants it.
    if case .bodyStream(let stream as UploadStream) = answer { stream.detach() }
  }

  private func answer(_ transfer: Transfer, _ answer: TransferAnswer) {
    switch (transfer.hold, answer) {
    case (.redirect, .redirect(let request?)): follow(transfer, request)
    case (.redirect, .redirect(nil)):
      transfer.hold = nil
      transfer.flow.receive.remove(.decision)
      if let head = transfer.head { transfer.accept(head) }
      goOn(transfer)
    case (.challenge(let side), .challenge(let answer)): self.answer(transfer, side, answer)
    case (.challenge(let side), .byDefault): self.answer(transfer, side, .performDefaultHandling)
    case (.handshake(let handshake), .challenge(let answer)): self.answer(transfer, handshake, answer)
    case (.handshake(let handshake), .byDefault): self.answer(transfer, handshake, .performDefaultHandling)
    case (.response, .becomeDownload(let task)):
      becomeDownload(transfer, task)
      allow(transfer)
    case (.response, .allow), (.response, .byDefault): allow(transfer)
    case (.redirect(let proposed), .byDefault):
      do throws(TransferError) {
        try Redirect.checkSecurity(of: proposed, after: transfer.url, transfer.job.configuration)
        follow(transfer, proposed)
      } catch {
        abort(transfer, error)
      }
    case (.caching, .caching(let policy, let headers)): mayStore(transfer, policy, headers)
    case (.caching, .byDefault): mayStore(transfer, .allowed, nil)
    case (.bodyStream, .byDefault):
      abort(
        transfer,
        TransferError(
          .requestBodyStreamExhausted, "no body was sent for the task in time",
          failingURL: transfer.request.url))
    case (.bodyStream, .bodyStream(let stream as UploadStream)) where stream.fault != nil:
      transfer.source = stream
      abort(transfer, transfer.failure(.abortedByCallback, nil))
    case (.bodyStream(let handshake), .bodyStream(let stream as UploadStream)):
      let task = transfer.task
      stream.onReady { [weak self] in self?.post(.uploadReady(task)) }
      transfer.source = stream
      guard let handshake else {
        transfer.hold = nil
        return proceed(transfer)
      }
      sendBehind(handshake, transfer)
    default: drop(answer)
    }
  }

  private func allow(_ transfer: Transfer) {
    transfer.hold = nil
    transfer.flow.receive.remove(.decision)
    guard transfer.passParts() else {
      return abort(
        transfer,
        TransferError(.bodyTooLarge, "the body is larger than allowed", failingURL: transfer.request.url))
    }
    goOn(transfer)
  }

  /// After an answer: lets libcurl go on, or ends what libcurl has ended already.
  func goOn(_ transfer: Transfer) {
    facts += transfer.takeFacts()
    loop.wake()
    transfer.touch()
    switch transfer.stage {
    case .onWire: applyFlow(transfer)
    case .parked: proceed(transfer)
    case .queued, .finishing: break
    }
  }

  private func mayStore(_ transfer: Transfer, _ policy: CacheStoragePolicy, _ headers: HTTPHeaders?) {
    transfer.hold = nil
    transfer.storagePolicy = policy
    transfer.storedHeaders = headers
    goOn(transfer)
  }

  private func becomeDownload(_ transfer: Transfer, _ task: TaskID) {
    setLiveBody(nil, of: transfer.task)
    rename(transfer, to: task)
    transfer.job.kind = .download
    transfer.live?.end(.failed)
    transfer.live = nil
  }

  func follow(_ transfer: Transfer, _ request: TransferRequest) {
    transfer.hold = nil
    transfer.flow.receive.remove(.decision)
    transfer.sink?.discard()
    transfer.sink = nil
    transfer.next = request
    if transfer.stage == .onWire {
      // What is left of the redirect's own body may end quickly; else its connection goes.
      transfer.cutAt = .now + Transfer.redirectGrace
      applyFlow(transfer)
    } else {
      proceed(transfer)
    }
  }

  // MARK: The next request

  /// The redirect's answer takes too long to end: leaves it.
  func cut(_ transfer: Transfer) {
    if transfer.cache?.answer != nil {
      leaveWire(transfer)
      _ = isAnsweredByCache(transfer, nil)
      return
    }
    guard let next = transfer.next else { return }
    leaveWire(transfer)
    sendNext(transfer, next)
  }

  func sendNext(_ transfer: Transfer, _ request: TransferRequest) {
    let url: CurlURL
    do throws(CurlURL.Fault) {
      url = try CurlURL(request.url)
    } catch {
      return finish(
        transfer, with: TransferError(.badURL, "redirected to a malformed URL", failingURL: request.url))
    }
    transfer.prepare(request, at: url)
    transfer.stage = .parked
    leaveQueue(transfer.task)
    guard request.body?.isStream != true || transfer.connectsFirst else { return askForBody(transfer) }
    enqueue(transfer)
  }

  func askForBody(_ transfer: Transfer) {
    transfer.stage = .parked
    transfer.hold = .bodyStream(nil)
    transfer.ask(.bodyStream)
    facts += transfer.takeFacts()
    loop.wake()
  }

  func makeSink(_ transfer: Transfer, resuming offset: Int64?) -> BodySink {
    let (bodies, task) = (transfer.session.bodies, transfer.task)
    if let live = transfer.live { setLiveBody(live, of: task) }
    if let offset {
      transfer.hasClaim = false  // the file is the sink's from here on
      return BodySink(
        resuming: bodies.receiveRest(task, from: offset, on: settings.pool), at: offset,
        maximumSize: settings.maximumBodySize)
    }
    return BodySink(
      smallBodyLimit: settings.smallBodyLimit, maximumSize: settings.maximumBodySize, live: transfer.live,
      mayKeepSmall: { [weak transfer] in bodies.mayKeep($0, of: transfer?.task ?? task) },
      makeFile: { [pool = settings.pool, weak transfer] in
        transfer?.noteKept()
        return bodies.receive(task, on: pool)
      })
  }
}
