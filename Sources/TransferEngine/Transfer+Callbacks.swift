internal import ContentCoding
internal import Curl
internal import TransferModel

extension Transfer: EasyHandleDelegate {
  // MARK: Head

  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    touch()
    isUnanswered = false
    let ended = parser.add(line)
    if let excess = parser.excess {
      if wireEnd == nil {
        let error = TransferError(.cannotParseResponse, excess, failingURL: request.url)
        wireEnd = WireEnd(result: .ok, error: error)
      }
      return false
    }
    guard let head = ended else { return true }
    guard isPastConnect else {
      connectHead = head
      return true
    }
    if head.isInformational {
      facts.append(.informational(task, status: head.status, headers: head.headers, at: tools.now()))
      if upload?.take(informational: head, at: url) == true, let point = upload?.point {
        facts.append(.keeps(task, .upload(point)))
        tools.isUrgent(self)
      }
      return true
    }
    guard self.head == nil else { return true }
    if let fault = head.framingFault {
      wireEnd = WireEnd(
        result: .ok, error: TransferError(fault.code, fault.message, failingURL: request.url))
      return false
    }
    provisionalHead = nil
    guard !isLeg(head) else {
      takeCookies(head)
      provisionalHead = head
      return true
    }
    takeUp(head)
    return true
  }

  /// The head of an answer that libcurl does not answer by itself.
  func takeUp(_ head: ResponseHead) {
    self.head = head
    headTime = tools.now()
    if session.note(url.origin, multiplexes: head.httpVersion == "HTTP/2") { tools.limitChanged(self) }
    // An answer tells that the body was taken, as far as it will be.
    if request.body != nil { noteProgress() }
    if head.status >= 300 { stopSending() }
    noteAuthentication(head)
    let side = challenger(head)
    if side != .proxy {
      takeCookies(head)
      if isAnsweredByCache(head) { return }
    }
    if let side {
      meet(head, on: side)
    } else if head.isRedirect {
      consider(head)
    } else {
      heed(head)
    }
  }

  /// The server of an upload may have kept what has come of it.
  private func heed(_ head: ResponseHead) {
    switch upload?.verdict(on: head) ?? .result {
    case .result: accept(head)
    case .send(let request):
      next = request
      cutAt = .now + Self.redirectGrace
    case .failed(let error):
      response = response(of: head)
      wireEnd = WireEnd(result: .ok, error: error)
    }
  }

  /// Nothing more of the body goes out behind such an answer. The client of a stream hears of it now: it may be the one that
  /// is asked what comes next.
  private func stopSending() {
    if flow.send.contains(.source) { tools.stopWaitingForBody(self) }
    if let length = source?.length, sent >= length { source?.wasSent() } else { source?.detach() }
  }

  /// A redirect: followed, or asked about.
  private func consider(_ head: ResponseHead) {
    redirects += 1
    do throws(TransferError) {
      let proposed = try Redirect.proposal(from: request, at: url, head: head, count: redirects)
      guard job.delegate?.asksForRedirects == true else {
        try Redirect.checkSecurity(of: proposed, after: url, job.configuration)
        facts.append(.redirected(task, response(of: head), to: proposed, at: tools.now()))
        next = proposed
        cutAt = .now + Self.redirectGrace
        return
      }
      // Its body may become the result, so it is kept.
      sink = makeSink()
      hold = .redirect(proposed: proposed)
      ask(.redirect(response(of: head), proposed: proposed))
      tools.isUrgent(self)
    } catch {
      response = response(of: head)
      wireEnd = WireEnd(result: .ok, error: error)
    }
  }

  /// The head of the answer whose body is the task's.
  func accept(_ head: ResponseHead) {
    guard takeUpRange(head) else { return }
    if job.kind != .download, let type = head.headers["Content-Type"],
      let parser = MultipartParser(contentType: type)
    {
      multipart = parser
    } else {
      announce(response(of: head))
    }
  }

  /// Shows an answer, or a part of one, to the delegate; holds the transfer where that wants to decide.
  func announce(_ response: TransferResponse) {
    self.response = response
    if sink == nil { sink = makeSink() }
    live?.beginPart(job.kind == .download ? nil : response, at: sink?.size ?? 0)
    guard job.kind != .download else { return }
    guard job.asksForResponses else {
      facts.append(.response(task, response, live, at: tools.now()))
      return
    }
    hold = .response
    flow.receive.insert(.decision)
    // The question comes behind the bytes of the part before: those must not wait for it.
    sink?.flushSlow(drained)
    ask(.response(response, live))
    tools.isUrgent(self)
  }

  func makeSink(resuming offset: Int64? = nil) -> BodySink {
    if job.kind != .download, live == nil {
      live = LiveBody(isIncremental: job.prefersIncrementalDelivery, hasRoom: drained)
    }
    return tools.makeSink(self, offset)
  }

  func response(of head: ResponseHead) -> TransferResponse {
    let isEncoded = head.headers["Content-Encoding"].map(ContentDecoder.decodes) ?? false
    let length = isEncoded ? nil : head.headers["Content-Length"].flatMap { Int64($0) }
    return TransferResponse(
      url: url.text, status: head.status, headers: Redirect.hidingUser(in: head.headers, at: url),
      expectedContentLength: length ?? -1, httpVersion: head.httpVersion)
  }

  // MARK: Going on

  /// Where the rest of a download was asked for: takes it, or what came in its place. False where the answer is of no
  /// use and the whole has to be asked for.
  private func takeUpRange(_ head: ResponseHead) -> Bool {
    guard let point = job.resumePoint?.download else { return true }
    guard let offset = resumesAt else {
      noteRestart(head)
      return true
    }
    switch ResumeRules.judge(head, wanted: offset, validator: point.partial.validator) {
    case .goesOn(let total):
      sink = makeSink(resuming: offset)
      facts.append(.resumed(task, offset: offset, expectedTotal: total, at: tools.now()))
      noteKept()
      return true
    case .whole:
      resumesAt = nil
      noteRestart(head)
      return true
    case .useless:
      resumesAt = nil
      next = request
      cutAt = .now + Self.redirectGrace
      return false
    case .other:
      resumesAt = nil
      return true
    }
  }

  /// The download had to start anew: says so, once.
  private func noteRestart(_ head: ResponseHead) {
    guard (200..<300).contains(head.status) else { return }
    let total = response(of: head).expectedContentLength
    facts.append(.resumed(task, offset: 0, expectedTotal: total, at: tools.now()))
  }

  // MARK: Body

  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    guard !isLeaving else { return .refused }
    // Holds that came too early for libcurl, and those that begin in the middle of its buffer.
    guard flow.receive.isEmpty else { return .paused }
    touch()
    if head == nil {
      guard let head = provisionalHead else { return .refused }
      takeUp(head)
      guard flow.receive.isEmpty else { return .paused }
    }
    guard next == nil, wireEnd == nil, cache?.answer == nil, let sink = sink ?? sinkOfMultipart() else {
      return discard(bytes)
    }
    if mustWait(for: sink) { return .paused }
    if let delay = debt() {
      flow.receive.insert(.rate)
      tools.holdForRate(self, .receive, delay)
      return .paused
    }
    return take(bytes, into: sink)
  }

  /// Whether nobody can take more of the body now; notes why.
  func mustWait(for sink: BodySink) -> Bool {
    if hold?.keepsBody == true, sink.size >= Self.redirectBodyLimit { flow.receive.insert(.decision) }
    if sink.isFull || live?.mayGrow() == false { flow.receive.insert(.downstream) }
    return !flow.receive.isEmpty
  }

  private func sinkOfMultipart() -> BodySink? {
    guard multipart != nil else { return nil }
    sink = makeSink()
    return sink
  }

  func deliver(_ bytes: UnsafeRawBufferPointer, to sink: BodySink) -> Bool {
    guard multipart != nil else { return sink.append(bytes, drained: drained) }
    var pieces: [MultipartPiece] = []
    multipart?.add(bytes) { pieces.append(MultipartPiece($0)) }
    pendingParts += pieces
    return passParts()
  }

  /// Hands on the parts of a multipart answer, up to where the delegate has to decide.
  func passParts() -> Bool {
    guard multipart?.isMalformed != true else { return false }
    while hold == nil, !pendingParts.isEmpty {
      switch pendingParts.removeFirst() {
      case .head(let fields): announce(partResponse(fields))
      case .body(let bytes):
        let isTaken = bytes.withUnsafeBytes { sink?.append($0, drained: drained) ?? true }
        guard isTaken else { return false }
      case .end: break
      }
    }
    return true
  }

  /// The end of a multipart answer, which may lack its last delimiter. One without parts is an empty answer: a task that succeeds has
  /// a response.
  func finishParts() -> Bool {
    var pieces: [MultipartPiece] = []
    multipart?.finish { pieces.append(MultipartPiece($0)) }
    pendingParts += pieces
    guard passParts() else { return false }
    if response == nil, hold == nil, let head { announce(response(of: head)) }
    return true
  }

  /// A part's own fields stand above the answer's (URLSession shows one response for each part).
  private func partResponse(_ fields: HTTPHeaders) -> TransferResponse {
    let head = head ?? ResponseHead(httpVersion: "", status: 200, headers: HTTPHeaders())
    var rest = head.headers
    for name in ["Content-Type", "Content-Length"] { rest.remove(name) }
    let headers = fields.merging(defaults: rest)
    return TransferResponse(
      url: url.text, status: head.status, headers: headers,
      expectedContentLength: fields["Content-Length"].flatMap { Int64($0) } ?? -1,
      httpVersion: head.httpVersion)
  }

  /// A redirect's body, read so that the connection can be used again.
  private func discard(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    discardedBytes += Int64(bytes.count)
    return discardedBytes > Self.redirectBodyLimit ? .refused : .accepted
  }

  // MARK: Request body

  func readBody(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    guard !isLeaving, let source else { return .failed }
    guard flow.send.isEmpty else { return .paused }
    if let delay = debt() {
      flow.send.insert(.rate)
      tools.holdForRate(self, .send, delay)
      return .paused
    }
    touch()
    let room = isRateLimited ? UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(16 * 1024)) : buffer
    let disposition = source.read(into: room)
    switch disposition {
    case .bytes(let count):
      bytesRead += Int64(count)
      charge(count)
    case .paused: flow.send.insert(.source)
    case .end: source.wasSent()
    case .failed: break
    }
    return disposition
  }

  func rewindBody() -> Bool {
    bytesRead = 0
    return source?.rewind() ?? false
  }

  // MARK: Rate

  /// How long until bytes may move again; nil where they may now.
  private func debt() -> Duration? {
    guard isRateLimited else { return nil }
    let now = ContinuousClock.now
    let own = taskLimit?.delay(at: now)
    let shared = sessionLimit?.bucket.delay(at: now)
    return [own, shared].compactMap { $0 }.max()
  }

  func charge(_ count: Int) {
    guard isRateLimited else { return }
    let now = ContinuousClock.now
    taskLimit?.take(count, at: now)
    sessionLimit?.bucket.take(count, at: now)
  }

  // MARK: Egress

  func mayConnect(to address: PeerAddress) -> SocketPermission {
    gate.mayConnect(to: address) == .granted ? choice(of: address) : .refused
  }

  func maySendRequest(toAddress address: String) -> Bool {
    touch()
    isConnected = true
    guard !lacksBody else { return false }
    // libcurl sends again what a kept connection took and did not answer; the origin may have acted on it (RFC 9110 §9.2.2).
    refusesRepeat = isUnanswered && !request.isIdempotent
    guard !refusesRepeat else { return false }
    isUnanswered = true
    isPastConnect = true
    if isTryingAgain {
      isTryingAgain = false
      facts.append(.began(task, at: fetchStart))
    }
    return gate.maySendRequest(toAddress: address)
  }
}

/// A piece of a multipart answer, kept beyond the callback that brought it.
enum MultipartPiece {
  case head(HTTPHeaders)
  case body([UInt8])
  case end

  init(_ output: MultipartParser.Output) {
    switch output {
    case .head(let fields): self = .head(fields)
    case .body(let bytes): self = .body(Array(bytes))
    case .end: self = .end
    }
  }
}
