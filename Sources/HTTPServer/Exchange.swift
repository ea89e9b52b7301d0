internal import CMicroHTTPD
internal import EventLoop
internal import CLinux
internal import Glibc
internal import HTTPTypes
internal import Limits

// Within `HTTPServer`, `Limits` is the server's own.
private let mostDiscarded = Limits.discardedUploadBytes.value

/// One request and its reply, from the first header to the last byte.
///
/// Lives on the loop of its daemon, which alone touches the connection; the handler runs elsewhere, and both meet in
/// `meeting`. The rule that keeps wake-ups from being lost: the connection is suspended and resumed on the loop only,
/// and after each resumption everything is looked at again.
final class Exchange: @unchecked Sendable {
  // Unchecked: what is not in `meeting` belongs to the loop's thread.
  enum Phase {
    /// Headers are here; the handler decides whether it wants the body.
    case head
    case body
    /// The request is whole; the reply is awaited.
    case answer
    case replying
    case over
  }

  /// A request with a body of at most so many bytes is handled on the loop: decoding it takes less time than changing threads. A handler that
  /// has more to do goes elsewhere.
  static let promptLength = 8 * 1024
  /// A small body that nobody wants is read all the same, so that the connection can be used again.
  static let discardableLength = 64 * 1024
  /// What is sent on behind a long reply that is ready, and has to wait for the request's end.
  static let maximumDiscardedForLongReply = mostDiscarded
  /// For how long the rest of a small body is waited for when its reply is ready.
  static let restPatience = Duration.seconds(1)

  let daemon: ServerDaemon
  let connection: OpaquePointer
  private let isHead: Bool
  private let hasBody: Bool
  let length: Int?
  /// Bytes of the body that have come.
  private(set) var received = 0
  /// When a reply was ready in the middle of the body.
  var readySince: ContinuousClock.Instant?
  let meeting = HandlerMeeting()
  /// It is among the streams that are to go on; the daemon's, under its lock.
  var isAwaited = false
  var phase = Phase.head
  private(set) var isSuspended = false
  private var source: (any ResponseSource)?
  /// Bytes of the reply that count towards `daemon.replies`.
  private var replySize = 0
  var clientLeft = false
  private var departure = DepartureWatch()
  private var turns = TurnOrder()
  private var stream = StreamBuffer()
  private var discarded = 0
  var clock = BodyClock()
  private var startHandler: (() -> Void)?
  /// The connection ends before the request: the client may still be sending.
  var leavesBytes = false
  /// libmicrohttpd's calls, and how many there had been when `isSilent` was asked last.
  private(set) var calls = 0
  var callsBefore: Int?

  init(daemon: ServerDaemon, _ request: RequestHead, on connection: OpaquePointer) {
    self.daemon = daemon
    self.connection = connection
    isHead = request.head.method == .head
    hasBody = request.hasBody
    length = request.contentLength
  }

  // MARK: From the handler's side

  /// Starts the handler when the request is whole, where it is so at once: libmicrohttpd closes a connection whose reply comes before
  /// that, and a handler that has the body waits for nothing. Where the body does not come along with the head, it starts without.
  func start(_ request: ServerRequest, _ handler: @escaping HTTPHandler) {
    startHandler = { [self] in
      // First: resuming a connection that is not suspended is undefined. While a small body is on its way, libmicrohttpd goes on.
      if phase != .body { suspend() }
      let isShort = !hasBody || (length ?? .max) <= Self.promptLength
      Task(executorPreference: isShort ? daemon.executor : nil) { [self] in
        let response = await handler(request)
        meeting.answer(response)
        daemon.resumeSoon(self)
      }
    }
    guard hasBody else {
      phase = .answer
      return
    }
    let isSmall = length.map { $0 <= Self.discardableLength } ?? false
    // Who waits for "100 Continue" gets it when somebody wants the body.
    guard isSmall, request.head.headerFields[.expect] == nil else { return startWithoutBody() }
    phase = .body
    daemon.afterRun(self)
  }

  func startWithoutBody() {
    guard let start = startHandler else { return }
    startHandler = nil
    start()
  }

  func nextBodyChunk() async throws(RequestBodyError) -> [UInt8]? {
    guard hasBody else { return nil }
    let chunk = await withCheckedContinuation { (continuation: CheckedContinuation<[UInt8]?, Never>) in
      if meeting.read(continuation) { daemon.resumeSoon(self) }
    }
    if chunk == nil, meeting.hasFailed { throw .disconnected }
    return chunk
  }

  func sourceHasMore() { daemon.resumeStreamSoon(self) }

  // MARK: On the loop

  /// libmicrohttpd's access handler, after the first call.
  func advance(_ upload: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>) -> MHD_Result {
    calls += 1
    turns.set(first: false, on: connection, idle: idleSeconds)
    if clientLeft { return .NO }
    switch phase {
    case .head: return decide()
    case .body:
      if size.pointee > 0 { return receive(upload, size) }
      meeting.endBody()
      phase = .answer
      departure.stop(for: self)  // Whoever has sent all may end.
      fallthrough
    case .answer:
      guard let start = startHandler else { return answer() }
      startHandler = nil
      start()
      return .YES
    case .replying, .over: return .YES
    }
  }

  private func decide() -> MHD_Result {
    let (isAnswered, wantsBody) = meeting.progress
    if wantsBody || (isAnswered && (length ?? .max) <= Self.discardableLength) {
      phase = .body
      timeBody()
      if (length ?? .max) > Self.discardableLength { departure.start(for: self) }
      return .YES
    }
    leavesBytes = isAnswered
    return answer()
  }

  /// Somebody wants the body, or has answered: from here on its client's time runs.
  private func timeBody() {
    clock.start(.now)
    // A handler lets its client be silent for longer; libmicrohttpd has not stopped here.
    if meeting.silence > daemon.limits.idleSeconds { cmhd_set_timeout(connection, UInt32(meeting.silence)) }
  }

  private func receive(_ upload: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>) -> MHD_Result {
    let bytes = UnsafeRawBufferPointer(start: upload, count: size.pointee)
    defer {
      received += bytes.count - size.pointee
      clock.note(bytes.count - size.pointee, .now)
    }
    switch meeting.take(bytes) {
    case .taken: size.pointee = 0
    case .full: suspend()
    case .unwanted:
      discarded += size.pointee
      size.pointee = 0
      return giveUpDiscarding() ? .NO : .YES
    }
    return .YES
  }

  /// A reply is ready and the request does not end: libmicrohttpd takes no reply before that, but closes the connection.
  private func giveUpDiscarding() -> Bool {
    guard discarded > Self.maximumDiscardedForLongReply, let response = meeting.reply else {
      return false
    }
    RawReply(daemon.limits.refusal(.bodyTooLong(limit: Self.maximumDiscardedForLongReply)))?
      .write(to: cmhd_descriptor(connection))
    response.body.close()
    leavesBytes = true
    phase = .replying
    return true
  }

  private func answer() -> MHD_Result {
    guard let response = meeting.reply else {
      suspend()
      return .YES
    }
    phase = .replying
    guard daemon.limits.allow(response) else {
      response.body.close()
      return reply(with: daemon.limits.refusal(.replyTooLarge))
    }
    return reply(with: response)
  }

  private func reply(with response: ServerResponse) -> MHD_Result {
    let message: OpaquePointer?
    switch response.body {
    case .empty: message = MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
    case .bytes(let bytes):
      if bytes.count > Limits.smallBodyBytes.value {
        guard daemon.replies.reserve(bytes.count) else {
          return reply(with: daemon.limits.refusal(.tooManyReplies))
        }
        replySize = bytes.count
      }
      message = bytes.withUnsafeBytes { buffer in
        MHD_create_response_from_buffer(
          buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress), .RESPMEM_MUST_COPY)
      }
    case .source(let source, let length):
      let isAlone = isHead || response.head.status == .notModified
      if isAlone {
        source.close()
      } else {
        self.source = source
        source.attach(ResponseWaker(exchange: self))
      }
      let context = Unmanaged.passUnretained(self).toOpaque()
      let size = length.map(UInt64.init) ?? cmhd_size_unknown
      message = MHD_create_response_from_callback(
        size, length == nil ? daemon.chunkedBlockSize : daemon.blockSize, onRead, context, nil)
      // libmicrohttpd would end the chunks of a body that it does not send.
      if isAlone, length == nil, let message { cmhd_close_behind(message) }
    }
    guard let message else { return .NO }
    defer { MHD_destroy_response(message) }
    for field in response.head.headerFields {
      MHD_add_response_header(message, field.name.canonicalName, field.value)
    }
    if daemon.isDraining { MHD_add_response_header(message, "Connection", "close") }
    return MHD_queue_response(connection, UInt32(response.head.status.code), message)
  }

  /// libmicrohttpd's content reader.
  fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let source, !clientLeft else { return cmhd_end_with_error }
    switch source.read(maximum: buffer.count) {
    case .bytes(let bytes):
      stream.write(bytes, into: buffer)
      return bytes.count
    case .end: return cmhd_end_of_stream
    case .failed: return cmhd_end_with_error
    case .wait:
      if daemon.isDraining, source.isEndless { return cmhd_end_of_stream }
      departure.start(for: self)
      if source.isEndless { stream.rest(buffer) }
      suspend()
      return 0
    }
  }

  var isStreaming: Bool { source != nil }
  /// The request is not whole.
  var isReceiving: Bool { phase == .head || phase == .body }
  private var awaitsReply: Bool { isReceiving || phase == .answer }

  func suspend() {
    isSuspended = true
    if phase == .body { clock.stop(.now) }
    if awaitsReply { turns.set(first: true, on: connection, idle: idleSeconds) }
    MHD_suspend_connection(connection)
  }

  /// Lets libmicrohttpd call again. Called by the daemon, on the loop.
  func resume() {
    if phase == .body, !isSuspended { timeBody() }
    guard isSuspended, phase != .over else { return }
    isSuspended = false
    if phase == .body { clock.goOn(.now) }
    MHD_resume_connection(connection)
  }

  /// If the handler allows a longer silence, no minimum rate applies.
  var timeouts: BodyTimeouts {
    let silence = meeting.silence
    return silence == 0
      ? daemon.limits.bodyTimeouts : BodyTimeouts(silence: .seconds(silence), bytesInPeriod: nil)
  }

  private var idleSeconds: Int { max(daemon.limits.idleSeconds, meeting.silence) }

  func clientHungUp() {
    guard phase == .body else { return abandon() }
    departure.stop(for: self)
    lookAgain()
  }

  /// A client that closed behind its last bytes: what is on the way still counts, but libmicrohttpd, told of both at
  /// once, may never look for the end. It is made to until the body is over.
  private func lookAgain() {
    guard phase == .body else { return }
    if !isSuspended {
      suspend()
      resume()
    }
    daemon.soon { [weak self] in self?.lookAgain() }
  }

  /// Ends the request, whatever is under way.
  func abandon() {
    clientLeft = true
    resume()
  }

  /// The request is over, sent or not.
  func finish() {
    phase = .over
    departure.stop(for: self)
    if replySize > 0 { daemon.replies.release(replySize) }
    replySize = 0
    meeting.end()
    startHandler = nil  // holds this exchange, where the client left before it was called
    source?.close()
    source = nil
  }
}

@c private func onRead(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int
) -> Int {
  Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue()
    .read(into: UnsafeMutableRawBufferPointer(start: bytes, count: count))
}
