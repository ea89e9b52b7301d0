internal import CMicroHTTPD
internal import EventLoop
internal import CLinux
internal import Glibc
internal import HTTPTypes
internal import Synchronization

/// One request and its reply, from the first header to the last byte.
///
/// Lives on the loop of its daemon, which alone touches the connection; the handler runs elsewhere, and both meet in
/// `shared`. The rule that keeps wake-ups from being lost: the connection is suspended and resumed on the loop only,
/// and after each resumption everything is looked at again.
final class Exchange: @unchecked Sendable {
  // Unchecked: what is not behind `shared` belongs to the loop's thread.
  private struct Shared {
    var response: ServerResponse?
    /// The handler asked for the body.
    var wantsBody = false
    var inbound: [UInt8] = []
    var hasEnded = false
    var hasFailed = false
    /// Seconds for which the client may be silent, where the handler grants it more than others have.
    var silence = 0
    /// The handler reads no further.
    var isStopped = false
    var reader: CheckedContinuation<[UInt8]?, Never>?
  }
  enum Phase {
    /// Headers are here; the handler decides whether it wants the body.
    case head
    case body
    /// The request is whole; the reply is awaited.
    case answer
    case replying
    case over
  }

  static let inboundHighWater = 256 * 1024
  /// A small body that nobody wants is read all the same, so that the connection can be used again.
  static let discardableLength = 64 * 1024
  /// What is sent on behind a long reply that is ready, and has to wait for the request's end.
  static let maximumDiscardedForLongReply = 64 * 1024 * 1024
  /// For how long the rest of a small body is waited for when its reply is ready.
  static let restPatience = Duration.seconds(1)

  let daemon: ServerDaemon
  let connection: OpaquePointer
  private let hasBody: Bool
  let length: Int?
  /// Bytes of the body that have come.
  private(set) var received = 0
  /// When a reply was ready in the middle of the body.
  var readySince: ContinuousClock.Instant?
  private let shared = Mutex(Shared())
  var phase = Phase.head
  private(set) var isSuspended = false
  private var source: (any ResponseSource)?
  var clientLeft = false
  private var isWatched = false
  private var comesFirst = false
  private var discarded = 0
  private(set) var clock = BodyClock()
  private var startHandler: (() -> Void)?
  /// The connection ends before the request: the client may still be sending.
  var leavesBytes = false
  /// libmicrohttpd's calls, and how many there had been when `isSilent` was asked last.
  private(set) var calls = 0
  var callsBefore: Int?

  init(daemon: ServerDaemon, connection: OpaquePointer, hasBody: Bool, length: Int?) {
    self.daemon = daemon
    self.connection = connection
    self.hasBody = hasBody
    self.length = length
  }

  // MARK: From the handler's side

  /// Starts the handler, now or, where there is no body, when the request is whole: libmicrohttpd closes a
  /// connection whose reply comes before that.
  func start(_ request: ServerRequest, _ handler: @escaping HTTPHandler) {
    guard !hasBody else { return run(request, handler) }
    phase = .answer
    startHandler = { [self] in run(request, handler) }
  }

  private func run(_ request: ServerRequest, _ handler: @escaping HTTPHandler) {
    suspend()  // first: resuming a connection that is not suspended is undefined
    Task {
      let response = await handler(request)
      shared.withLock { $0.response = response }
      daemon.resumeSoon(self)
    }
  }

  func nextBodyChunk() async throws(RequestBodyError) -> [UInt8]? {
    guard hasBody else { return nil }
    let chunk = await withCheckedContinuation { (continuation: CheckedContinuation<[UInt8]?, Never>) in
      let ready: [UInt8]?? = shared.withLock { shared in
        shared.wantsBody = true
        if !shared.inbound.isEmpty {
          defer { shared.inbound = [] }
          return .some(shared.inbound)
        }
        if shared.hasEnded || shared.hasFailed || shared.isStopped { return .some(nil) }
        shared.reader = continuation
        return nil
      }
      if let ready { continuation.resume(returning: ready) }
      daemon.resumeSoon(self)
    }
    if chunk == nil, shared.withLock({ $0.hasFailed }) { throw .disconnected }
    return chunk
  }

  func allowSilence(seconds: Int) { shared.withLock { $0.silence = seconds } }

  func stopReading() {
    shared.withLock { shared in
      shared.isStopped = true
      Self.deliver(nil, &shared)
    }
  }

  func sourceHasMore() { daemon.resumeStreamSoon(self) }

  // MARK: On the loop

  /// libmicrohttpd's access handler, after the first call.
  func advance(_ upload: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>) -> MHD_Result {
    calls += 1
    comeFirst(false)
    if clientLeft { return .NO }
    switch phase {
    case .head: return decide()
    case .body:
      if size.pointee > 0 { return receive(upload, size) }
      shared.withLock { shared in
        shared.hasEnded = true
        if shared.inbound.isEmpty { Self.deliver(nil, &shared) }
      }
      phase = .answer
      unwatch()  // Whoever has sent all may end.
      return answer()
    case .answer:
      guard let start = startHandler else { return answer() }
      startHandler = nil
      start()
      return .YES
    case .replying, .over: return .YES
    }
  }

  private func decide() -> MHD_Result {
    let (isAnswered, wantsBody) = shared.withLock { ($0.response != nil, $0.wantsBody) }
    if wantsBody || (isAnswered && (length ?? .max) <= Self.discardableLength) {
      phase = .body
      clock.start(seconds: max(daemon.limits.bodySeconds, silence), .now)
      if (length ?? .max) > Self.discardableLength { watchForDeparture() }
      return .YES
    }
    leavesBytes = isAnswered
    return answer()
  }

  private func receive(_ upload: UnsafePointer<CChar>?, _ size: UnsafeMutablePointer<Int>) -> MHD_Result {
    let bytes = UnsafeRawBufferPointer(start: upload, count: size.pointee)
    defer {
      received += bytes.count - size.pointee
      clock.credit(bytes.count - size.pointee, perSecond: daemon.limits.bodyBytesPerSecond)
    }
    enum Outcome { case taken, full, unwanted }
    let outcome: Outcome = shared.withLock { shared in
      if shared.response != nil { return .unwanted }
      guard shared.inbound.count < Self.inboundHighWater else { return .full }
      if shared.reader != nil {
        Self.deliver(Array(bytes), &shared)
      } else {
        shared.inbound.append(contentsOf: bytes)
      }
      return .taken
    }
    switch outcome {
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
    guard discarded > Self.maximumDiscardedForLongReply, let response = reply else {
      return false
    }
    RawReply(daemon.limits.refusal(.bodyTooLong(limit: Self.maximumDiscardedForLongReply)))?
      .write(to: cmhd_descriptor(connection))
    if case .source(let source, _) = response.body { source.close() }
    leavesBytes = true
    phase = .replying
    return true
  }

  private static func deliver(_ chunk: [UInt8]?, _ shared: inout Shared) {
    shared.reader?.resume(returning: chunk)
    shared.reader = nil
  }

  private func answer() -> MHD_Result {
    guard let response = reply else {
      suspend()
      return .YES
    }
    phase = .replying
    guard fits(response) else {
      if case .source(let source, _) = response.body { source.close() }
      return reply(with: daemon.limits.refusal(.replyTooLarge))
    }
    return reply(with: response)
  }

  /// libmicrohttpd would close the connection without a word.
  private func fits(_ response: ServerResponse) -> Bool {
    let size = response.head.headerFields.reduce(0) {
      $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4
    }
    return size <= daemon.limits.replyHeaderBytes
  }

  private func reply(with response: ServerResponse) -> MHD_Result {
    let message: OpaquePointer?
    switch response.body {
    case .empty: message = MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
    case .bytes(let bytes):
      message = bytes.withUnsafeBytes { buffer in
        MHD_create_response_from_buffer(
          buffer.count, UnsafeMutableRawPointer(mutating: buffer.baseAddress), .RESPMEM_MUST_COPY)
      }
    case .source(let source, let length):
      self.source = source
      source.attach(ResponseWaker(exchange: self))
      let context = Unmanaged.passUnretained(self).toOpaque()
      let size = length.map(UInt64.init) ?? cmhd_size_unknown
      message = MHD_create_response_from_callback(
        size, length == nil ? daemon.chunkedBlockSize : daemon.blockSize, onRead, context, nil)
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
      buffer.copyBytes(from: bytes)
      return bytes.count
    case .end: return cmhd_end_of_stream
    case .failed: return cmhd_end_with_error
    case .wait:
      if daemon.isDraining, source.isEndless { return cmhd_end_of_stream }
      watchForDeparture()
      suspend()
      return 0
    }
  }

  /// What the handler said, where it has.
  var reply: ServerResponse? { shared.withLock { $0.response } }

  var isStreaming: Bool { source != nil }
  /// The request is not whole.
  var isReceiving: Bool { phase == .head || phase == .body }
  private var awaitsReply: Bool { isReceiving || phase == .answer }

  func suspend() {
    isSuspended = true
    if phase == .body { clock.stop(.now) }
    if awaitsReply { comeFirst(true) }
    MHD_suspend_connection(connection)
  }

  /// Lets libmicrohttpd call again. Called by the daemon, on the loop.
  func resume() {
    guard isSuspended, phase != .over else { return }
    isSuspended = false
    if phase == .body { clock.goOn(.now) }
    MHD_resume_connection(connection)
  }

  /// A connection that was resumed is read from before anything else, and libmicrohttpd takes the end of what a client sends for the end
  /// of all, although there is a request to be gone on with. What has a timeout of its own it goes on with first. It is given before the
  /// connection is suspended: 1.0.1 takes none from then on, where 0.9.75 did.
  private func comeFirst(_ isFirst: Bool) {
    guard isFirst != comesFirst else { return }
    comesFirst = isFirst
    let seconds = max(daemon.limits.idleSeconds, silence)
    cmhd_set_timeout(connection, UInt32(seconds + (isFirst ? 1 : 0)))
  }

  private var silence: Int { shared.withLock { $0.silence } }

  /// A suspended connection's end is invisible to libmicrohttpd: its descriptor is watched beside it.
  private func watchForDeparture() {
    guard !isWatched else { return }
    isWatched = true
    daemon.watch(cmhd_descriptor(connection), self)
  }

  func clientHungUp() {
    guard phase == .body else { return abandon() }
    unwatch()
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

  private func unwatch() {
    guard isWatched else { return }
    isWatched = false
    daemon.unwatch(cmhd_descriptor(connection))
  }

  /// The request is over, sent or not.
  func finish() {
    phase = .over
    unwatch()
    shared.withLock { shared in
      shared.hasFailed = !shared.hasEnded
      Self.deliver(nil, &shared)
    }
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
