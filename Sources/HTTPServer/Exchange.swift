internal import CMicroHTTPD
internal import EventLoop
internal import CLinux
internal import Glibc
internal import HTTPTypes
internal import Limits

// Within `HTTPServer`, `Limits` is the server's own type.
private let mostDiscarded = Limits.discardedUploadBytes.value

/// One request and its reply, from the first header field to the last byte.
///
/// An exchange lives on the loop of its daemon, and only this loop uses the connection. The handler runs elsewhere, and both communicate
/// through `channel`. To lose no wake-up, only the loop suspends and resumes the connection, and checks everything again after each
/// resumption.
final class Exchange: @unchecked Sendable {
  // Unchecked: all state outside `channel` belongs to the loop's thread.
  enum Phase {
    /// The header fields are complete; the handler decides whether it reads the body.
    case head
    case body
    /// The request is complete; the exchange waits for the reply.
    case answer
    case replying
    case finished
  }

  /// The largest body in bytes whose request is handled on the loop. Decoding it takes less time than changing threads. A handler with
  /// more work continues elsewhere.
  static let promptLength = 8 * 1024
  /// The largest unread body in bytes that is received and discarded, so that the connection can be used again.
  static let discardableLength = 64 * 1024
  /// The limit in bytes of discarded upload while a long reply is ready and waits for the request's end.
  static let maximumDiscardedForLongReply = mostDiscarded
  /// The time for which a ready reply waits for the rest of a small body.
  static let discardTimeout = Duration.seconds(1)

  let daemon: ServerDaemon
  let connection: OpaquePointer
  private let isHead: Bool
  private let hasBody: Bool
  let length: Int?
  /// The number of received bytes of the body.
  private(set) var received = 0
  /// The time when a reply was ready before the end of the body.
  var readySince: ContinuousClock.Instant?
  let channel = HandlerChannel()
  /// Whether the exchange is in the daemon's queue of streams to resume; protected by the daemon's lock.
  var handlerIsWaiting = false
  var phase = Phase.head
  private(set) var isSuspended = false
  private var source: (any ResponseSource)?
  /// The bytes of the reply that count towards `daemon.replies`.
  private var replySize = 0
  var clientLeft = false
  private var departure = DisconnectWatch()
  private var turns = ServingOrder()
  private var stream = StreamBuffer()
  private var discarded = 0
  var clock = RequestBodyTimer()
  private var startHandler: (() -> Void)?
  /// Whether the connection ends before the request, so that the client may still be sending.
  var closesWithUnreadBytes = false
  /// The number of calls by libmicrohttpd; `callsBefore` is the number at the last call of `isSilent`.
  private(set) var calls = 0
  var callsBefore: Int?

  init(daemon: ServerDaemon, _ request: RequestHead, on connection: OpaquePointer) {
    self.daemon = daemon
    self.connection = connection
    isHead = request.head.method == .head
    hasBody = request.hasBody
    length = request.contentLength
  }

  // MARK: Called by the handler

  /// Starts the handler: after a small body that arrives with the head, or else at once. A handler that has the whole body never waits.
  /// libmicrohttpd closes a connection whose reply comes before the end of its request.
  func start(_ request: ServerRequest, _ handler: @escaping HTTPHandler) {
    startHandler = { [self] in
      // Suspend first: resuming a connection that is not suspended is undefined. During a small body, libmicrohttpd keeps running.
      if phase != .body { suspend() }
      let isShort = !hasBody || (length ?? .max) <= Self.promptLength
      Task(executorPreference: isShort ? daemon.executor : nil) { [self] in
        let response = await handler(request)
        channel.respond(response)
        daemon.resumeSoon(self)
      }
    }
    guard hasBody else {
      phase = .answer
      return
    }
    let isSmall = length.map { $0 <= Self.discardableLength } ?? false
    // A client that waits for "100 Continue" receives it when the handler reads the body.
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
      if channel.read(continuation) { daemon.resumeSoon(self) }
    }
    if chunk == nil, channel.hasFailed { throw .disconnected }
    return chunk
  }

  func sourceHasMore() { daemon.resumeStreamSoon(self) }

  // MARK: On the loop

  /// Handles each call of libmicrohttpd's access handler after the first.
  func advance(_ upload: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>) -> MHD_Result {
    calls += 1
    turns.set(first: false, on: connection, idle: idleSeconds)
    if clientLeft { return .NO }
    switch phase {
    case .head: return decide()
    case .body:
      if size.pointee > 0 { return receive(upload, size) }
      channel.endBody()
      phase = .answer
      departure.stop(for: self)  // A client may close its side after the whole request.
      fallthrough
    case .answer:
      guard let start = startHandler else { return answer() }
      startHandler = nil
      start()
      return .YES
    case .replying, .finished: return .YES
    }
  }

  private func decide() -> MHD_Result {
    let (isAnswered, wantsBody) = channel.progress
    if wantsBody || (isAnswered && (length ?? .max) <= Self.discardableLength) {
      phase = .body
      timeBody()
      if (length ?? .max) > Self.discardableLength { departure.start(for: self) }
      return .YES
    }
    closesWithUnreadBytes = isAnswered
    return answer()
  }

  /// Starts the clock of the body, because the handler reads the body or has replied.
  private func timeBody() {
    clock.start(.now)
    // libmicrohttpd's timeout must be longer if the handler allows a longer silence.
    if channel.silence > daemon.limits.idleSeconds { cmhd_set_timeout(connection, UInt32(channel.silence)) }
  }

  private func receive(_ upload: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>) -> MHD_Result {
    let bytes = UnsafeRawBufferPointer(start: upload, count: size.pointee)
    defer {
      received += bytes.count - size.pointee
      clock.didReceive(bytes.count - size.pointee, .now)
    }
    switch channel.enqueue(bytes) {
    case .taken: size.pointee = 0
    case .full: suspend()
    case .unwanted:
      discarded += size.pointee
      size.pointee = 0
      return giveUpDiscarding() ? .NO : .YES
    }
    return .YES
  }

  /// Refuses a long rest of a request while a reply is ready. libmicrohttpd would accept the reply only at the end of the request.
  private func giveUpDiscarding() -> Bool {
    guard discarded > Self.maximumDiscardedForLongReply, let response = channel.reply else {
      return false
    }
    RawReply(daemon.limits.refusal(.bodyTooLong(limit: Self.maximumDiscardedForLongReply)))?
      .write(to: cmhd_descriptor(connection))
    response.body.close()
    closesWithUnreadBytes = true
    phase = .replying
    return true
  }

  private func answer() -> MHD_Result {
    guard let response = channel.reply else {
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
      // libmicrohttpd would send the last chunk of a body that it does not send.
      if isAlone, length == nil, let message { cmhd_end_reply_by_close(message) }
    }
    guard let message else { return .NO }
    defer { MHD_destroy_response(message) }
    for field in response.head.headerFields {
      MHD_add_response_header(message, field.name.canonicalName, field.value)
    }
    if daemon.isDraining { MHD_add_response_header(message, "Connection", "close") }
    return MHD_queue_response(connection, UInt32(response.head.status.code), message)
  }

  /// Serves libmicrohttpd's content reader.
  fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let source, !clientLeft else { return breakOff() }
    switch source.read(maximum: buffer.count) {
    case .bytes(let bytes):
      stream.write(bytes, into: buffer)
      return bytes.count
    case .end: return cmhd_end_of_stream
    case .failed: return breakOff()
    case .wait:
      if daemon.isDraining, source.isEndless { return cmhd_end_of_stream }
      departure.start(for: self)
      if source.isEndless { stream.releasePages(buffer) }
      suspend()
      return 0
    }
  }

  /// Ends the connection before the end of the reply.
  ///
  /// libmicrohttpd 0.9 marks the connection as closed, and closes it at its next visit. It visits all connections with a custom timeout, but
  /// of the others only those that have been idle longest. So a client would wait until an older idle connection ends.
  private func breakOff() -> Int {
    cmhd_set_timeout(connection, 1)
    return cmhd_end_with_error
  }

  var isStreaming: Bool { source != nil }
  /// Whether the request is still incomplete.
  var isReceiving: Bool { phase == .head || phase == .body }
  private var awaitsReply: Bool { isReceiving || phase == .answer }

  func suspend() {
    isSuspended = true
    if phase == .body { clock.stop(.now) }
    if awaitsReply { turns.set(first: true, on: connection, idle: idleSeconds) }
    MHD_suspend_connection(connection)
  }

  /// Lets libmicrohttpd call the handler again. The daemon calls this function on the loop.
  func resume() {
    if phase == .body, !isSuspended { timeBody() }
    guard isSuspended, phase != .finished else { return }
    isSuspended = false
    if phase == .body { clock.resume(.now) }
    MHD_resume_connection(connection)
  }

  /// The time limits of the body. If the handler allows a longer silence, no minimum rate applies.
  var timeouts: BodyTimeouts {
    let silence = channel.silence
    return silence == 0
      ? daemon.limits.bodyTimeouts : BodyTimeouts(silence: .seconds(silence), bytesInPeriod: nil)
  }

  private var idleSeconds: Int { max(daemon.limits.idleSeconds, channel.silence) }

  func clientHungUp() {
    guard phase == .body else { return abandon() }
    departure.stop(for: self)
    recheckDisconnect()
  }

  /// Suspends and resumes the connection until the body ends. The client closed it directly after its last bytes, which still count.
  /// libmicrohttpd sees both at once and may otherwise never read the end.
  private func recheckDisconnect() {
    guard phase == .body else { return }
    if !isSuspended {
      suspend()
      resume()
    }
    daemon.callSoon { [weak self] in self?.recheckDisconnect() }
  }

  /// Ends the request at once.
  func abandon() {
    clientLeft = true
    resume()
  }

  /// Releases everything when the request is over, completely sent or not.
  func finish() {
    phase = .finished
    departure.stop(for: self)
    if replySize > 0 { daemon.replies.release(replySize) }
    replySize = 0
    channel.finish()
    startHandler = nil  // This closure retains the exchange if the client left before the handler started.
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
