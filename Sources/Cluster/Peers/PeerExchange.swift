internal import Curl
internal import EventLoop
internal import Glibc
internal import HTTPServer
internal import HTTPTypes
internal import Synchronization

/// One forwarded request with its response. Both bodies are streamed with flow control: a slow client slows down the other service, and the
/// other service waits for a slow sender.
final class PeerExchange: CurlExchange, ResponseSource, @unchecked Sendable {
  // Unchecked: mutable state belongs to the loop's thread, on which the server reads as well.
  /// The most bytes of a body that are buffered.
  private static let capacity = 256 * 1024

  private let request: ServerRequest
  private let client: CurlClient
  private let loop: EventLoop
  private var easy: EasyHandle?
  private let done: @Sendable (PeerExchange) -> Void
  private var answer: (@Sendable (Result<ServerResponse, PeerFailure>) -> Void)?

  private var head = HTTPResponse(status: .ok)
  private var hasHead = false
  private var reply: [UInt8] = []
  private var given = 0
  private var isHeld = false
  private var hasEnded = false
  private var hasFailed = false
  private var isClosed = false
  private var waker: ResponseWaker?

  private var body: [UInt8] = []
  private var sent = 0
  private var isBodyWhole = false
  private var isBodyBroken = false
  private var isAskedForMore = false
  private var whenTaken: (@Sendable () -> Void)?

  private(set) var isEndless = false
  /// Whether libcurl was allowed to send the request, so that the other service may have received it.
  private var wasSent = false

  /// - Parameters:
  ///   - answer: called once, with the response's head or an error.
  ///   - done: called once, when the exchange has ended.
  init(
    _ request: ServerRequest, on client: CurlClient, loop: EventLoop,
    answer: @escaping @Sendable (Result<ServerResponse, PeerFailure>) -> Void,
    done: @escaping @Sendable (PeerExchange) -> Void
  ) {
    self.request = request
    self.client = client
    self.loop = loop
    self.answer = answer
    self.done = done
  }

  // MARK: Request

  /// Starts the request.
  /// - Parameters:
  ///   - socket: the path of the other service's socket.
  ///   - fields: the header fields.
  ///   - bytes: the body, if it was read already; `nil` to read it from the client.
  func start(at socket: String, _ fields: HTTPFields, body bytes: [UInt8]?) {
    do throws(CurlError) {
      try client.start(self) { (easy, _) throws(CurlError) in
        self.easy = easy
        try configure(easy, socket, fields, body: bytes)
      }
    } catch {
      easy = nil
      if bytes == nil { request.body.stop() }
      return abandon(.lost(error.operation))
    }
    if bytes == nil { pump() }
  }

  private func configure(
    _ easy: EasyHandle, _ socket: String, _ fields: HTTPFields, body bytes: [UInt8]?
  ) throws(CurlError) {
    let query = request.query.isEmpty ? "" : "?" + request.query
    try easy.set(.url, to: "http://ferry/")
    // The target is sent unchanged: parsing it as a URL would lose dot segments, fragments and unusual escapes.
    try easy.set(.requestTarget, to: request.path + query)
    try easy.set(.unixSocketPath, to: socket)
    if let bytes {
      if !bytes.isEmpty || request.head.method != .get {
        try easy.set(.post, to: 1)
        try easy.setBody(bytes)
      }
    } else {
      try easy.set(.post, to: 1)
      try easy.setUpload(length: request.body.length.map { Int64($0) })
    }
    // The client's HEAD is sent as GET; the server omits the body.
    try easy.set(.customRequest, to: request.head.method == .head ? "GET" : request.head.method.rawValue)
    var fields = fields
    fields.dropConnectionFields()
    var lines = fields.map { "\($0.name.rawName): \($0.value)" }
    for name in [HTTPField.Name.accept, .contentType, .expect] where fields[name] == nil {
      lines.append("\(name.rawName):")
    }
    try easy.setHeaders(lines)
  }

  /// Reads the client's body as fast as the other service accepts it.
  private func pump() {
    let body = request.body
    Task { [weak self, loop] in
      var isBroken = false
      while true {
        let chunk: [UInt8]?
        do throws(RequestBodyError) { chunk = try await body.next() } catch {
          isBroken = true
          chunk = nil
        }
        guard let chunk, !chunk.isEmpty else { break }
        let isTaken = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
          loop.perform { [weak self] in
            guard let self, !isClosed else { return continuation.resume(returning: false) }
            whenTaken = { continuation.resume(returning: true) }
            self.body = chunk
            sent = 0
            poll()
          }
        }
        guard isTaken else { return body.stop() }
      }
      let isWhole = !isBroken
      loop.perform { [weak self] in
        guard let self else { return }
        (isBodyWhole, isBodyBroken) = (isWhole, !isWhole)
        poll()
      }
    }
  }

  private func poll() {
    guard isAskedForMore, !isClosed, !hasEnded else { return }
    isAskedForMore = false
    if let easy { client.setPaused(easy, isHeld ? .receive : []) }
  }

  func readBody(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    guard sent < body.count else {
      if isBodyBroken { return .failed }
      if isBodyWhole { return .end }
      isAskedForMore = true
      return .paused
    }
    let count = min(buffer.count, body.count - sent)
    buffer.copyBytes(from: body[sent..<sent + count])
    sent += count
    if sent == body.count {
      let taken = whenTaken
      whenTaken = nil
      taken?()
    }
    return .bytes(count)
  }

  func mayConnect(to address: PeerAddress) -> SocketPermission { .granted }

  /// Returns whether libcurl may send the request. libcurl resends a request if a reused connection closes before the response. This
  /// refuses the second attempt, because only the caller knows whether repeating is safe.
  func maySendRequest(toAddress address: String) -> Bool {
    defer { wasSent = true }
    return !wasSent
  }

  // MARK: Response head

  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    let text = String(decoding: line, as: UTF8.self)
    let trimmed = text.prefix { $0 != "\r" && $0 != "\n" && $0 != "\r\n" }
    if trimmed.hasPrefix("HTTP/") {
      let words = trimmed.split(separator: " ")
      head = HTTPResponse(status: .init(code: words.count > 1 ? Int(words[1]) ?? 500 : 500))
    } else if trimmed.isEmpty {
      if head.status.kind != .informational { didReceiveHead() }
    } else if let colon = trimmed.firstIndex(of: ":"), let name = HTTPField.Name(String(trimmed[..<colon])) {
      let value = trimmed[trimmed.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      head.headerFields.append(HTTPField(name: name, value: String(value)))
    }
    return true
  }

  private func didReceiveHead() {
    guard !hasHead else { return }
    hasHead = true
    let length = head.headerFields[.contentLength].flatMap { Int64($0) }
    head.headerFields.dropConnectionFields()
    // The server sets these fields itself.
    for name in [HTTPField.Name.date, .server] { head.headerFields[name] = nil }
    isEndless = head.headerFields[.contentType]?.hasPrefix("text/event-stream") ?? false
    // The length of a 304 is the one that the 200 would have (RFC 9110 §8.6).
    let isEmpty = length == 0 || head.status == .noContent || head.status == .notModified && length == nil
    var response = ServerResponse(status: head.status, fields: head.headerFields)
    response.body = isEmpty ? .empty : .source(self, length: length)
    settle(.success(response))
  }

  private func settle(_ result: Result<ServerResponse, PeerFailure>) {
    let answer = answer
    self.answer = nil
    answer?(result)
  }

  // MARK: Response body

  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    guard !isClosed else { return .refused }
    guard reply.count - given < Self.capacity else {
      isHeld = true
      return .paused
    }
    reply.append(contentsOf: bytes)
    waker?.wake()
    return .accepted
  }

  func attach(_ waker: ResponseWaker) {
    self.waker = waker
    waker.wake()
  }

  func read(maximum: Int) -> ResponseChunk {
    let left = reply.count - given
    guard left > 0 else {
      if hasFailed { return .failed }
      return hasEnded ? .end : .wait
    }
    let chunk = Array(reply[given..<given + min(maximum, left)])
    given += chunk.count
    if given == reply.count {
      reply.removeAll(keepingCapacity: true)
      given = 0
      // Resumes later, because libcurl may call back at once while the server still reads.
      if isHeld { loop.perform { [self] in goOn() } }
    }
    return .bytes(chunk)
  }

  private func goOn() {
    guard isHeld, !hasEnded, !isClosed else { return }
    isHeld = false
    if let easy { client.setPaused(easy, isAskedForMore ? .send : []) }
  }

  /// Ends the exchange after the response was sent whole or the client has disconnected.
  func close() { loop.perform { [self] in abandon(.lost("the client left")) } }

  // MARK: End

  func end(_ easy: EasyHandle, _ result: CurlResult) {
    guard !hasEnded else { return }
    hasEnded = true
    hasFailed = result != .ok
    self.easy = nil
    if !hasHead {
      let isUnreached = result == .couldntConnect && !wasSent
      settle(.failure(isUnreached ? .unreachable : .lost(easy.errorMessage)))
    }
    releaseHandle()
    waker?.wake()
    done(self)
  }

  /// Cancels the exchange and discards all later data.
  func abandon(_ failure: PeerFailure) {
    guard !isClosed else { return }
    isClosed = true
    if !hasEnded {
      hasEnded = true
      hasFailed = true
      if let easy { client.end(easy) }
      easy = nil
      settle(.failure(failure))
      waker?.wake()
      done(self)
    }
    releaseHandle()
  }

  private func releaseHandle() {
    let taken = whenTaken
    whenTaken = nil
    isClosed = isClosed || hasFailed
    taken?()
  }
}

extension HTTPFields {
  /// Removes the fields that concern a single connection (RFC 9110 §7.6.1).
  fileprivate mutating func dropConnectionFields() {
    for name in Self.ofTheConnection { self[name] = nil }
  }

  private static let ofTheConnection: [HTTPField.Name] = [
    .connection, .contentLength, .transferEncoding, .upgrade, .te, .trailer, HTTPField.Name("Host")!,
    HTTPField.Name("Keep-Alive")!,
  ]
}
