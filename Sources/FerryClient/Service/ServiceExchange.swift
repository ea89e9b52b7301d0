internal import Curl
internal import EventLoop
internal import Limits

/// One request with its reply. A slow reader slows down the service, and the service slows down the producer of a body.
final class ServiceExchange: CurlExchange, @unchecked Sendable {
  // Unchecked: mutable state belongs to the loop's thread.
  private let request: ServiceRequest
  private let url: String
  private let loop: EventLoop
  private let client: CurlClient
  private var easy: EasyHandle?

  private var status = 0
  private var fields: [(name: String, value: String)] = []
  private var headBytes = 0
  private var head: ServiceHead?
  private var buffer: [UInt8] = []
  private var isHeld = false
  private var failure: ServiceError?
  private var hasEnded = false
  private var headReader: ((Result<ServiceHead, ServiceError>) -> Void)?
  private var reader: ((Result<[UInt8]?, ServiceError>) -> Void)?
  private var lastActivity = ContinuousClock.now
  private var silenceTimer: LoopTimer?

  private var upload: ArraySlice<UInt8> = []
  private var isUploadWhole = false
  private var uploadFault: String?
  private var isProducing = false
  private var isUploadHeld = false

  init(_ request: ServiceRequest, to address: ServiceAddress, on loop: EventLoop, _ client: CurlClient) {
    self.request = request
    url = address.url + request.target
    self.loop = loop
    self.client = client
  }

  // MARK: Request

  /// Starts the request.
  /// - Parameter answer: called once, with the head of the reply or an error.
  func start(
    _ address: ServiceAddress, _ roots: CertificateAuthoritySet?, timeout: Duration?,
    answer: @escaping (Result<ServiceHead, ServiceError>) -> Void
  ) {
    guard !hasEnded else { return answer(.failure(failure ?? .cancelled)) }
    headReader = answer
    do throws(CurlError) {
      try client.start(self, timeout: timeout) { (easy, multi) throws(CurlError) in
        self.easy = easy
        try configure(easy, address)
        if let roots { try easy.setTLS(TLSPolicy(roots: roots, host: address.tlsHost, in: multi)) }
      }
    } catch {
      easy = nil
      return settle(.invalidReply("\(url): \(error)"))
    }
    if request.silence != nil { watchSilence() }
  }

  private func configure(_ easy: EasyHandle, _ address: ServiceAddress) throws(CurlError) {
    try easy.set(.url, to: url)
    try easy.set(.userAgent, to: "ferry")
    try easy.set(.connectTimeoutMilliseconds, to: ClientLimits.connectSeconds.value * 1000)
    var lines = request.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    if let token = address.token { lines.append("Authorization: Bearer \(token)") }
    switch request.body {
    case .bytes(let bytes):
      try easy.set(.post, to: 1)
      try easy.setBody(bytes)
    case .producer(let length, _):
      try easy.set(.post, to: 1)
      try easy.setUpload(length: length)
      // The body can be read only once, so that it must not meet a connection that has just closed.
      try easy.set(.freshConnect, to: 1)
    case nil where request.method == "HEAD": try easy.set(.noBody, to: 1)
    case nil: break
    }
    if request.method != "HEAD" { try easy.set(.customRequest, to: request.method) }
    try easy.setHeaders(lines + ["Expect:"])
  }

  func readBody(into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    guard !upload.isEmpty else {
      if uploadFault != nil { return .failed }
      if isUploadWhole { return .end }
      isUploadHeld = true
      produce()
      return .paused
    }
    let count = min(buffer.count, upload.count)
    buffer.copyBytes(from: upload.prefix(count))
    upload = upload.dropFirst(count)
    return .bytes(count)
  }

  private func produce() {
    guard !isProducing, case .producer(_, let next) = request.body else { return }
    isProducing = true
    Task { [loop] in
      let result: Result<[UInt8]?, any Error>
      do { result = .success(try await next()) } catch { result = .failure(error) }
      loop.perform { [self] in didProduce(result) }
    }
  }

  private func didProduce(_ result: Result<[UInt8]?, any Error>) {
    isProducing = false
    switch result {
    case .success(let bytes?) where bytes.isEmpty: return produce()
    case .success(let bytes?): upload = bytes[...]
    case .success(nil): isUploadWhole = true
    case .failure(let error): uploadFault = "\(error)"
    }
    isUploadHeld = false
    resume()
  }

  func mayConnect(to address: PeerAddress) -> SocketPermission { .granted }
  func maySendRequest(toAddress address: String) -> Bool { true }

  // MARK: Reply

  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    lastActivity = .now
    headBytes += line.count
    guard headBytes <= ClientLimits.headBytes.value else {
      failure = .invalidReply("\(url): the head of the reply exceeds \(ClientLimits.headBytes.value) bytes")
      return false
    }
    let text = String(decoding: line, as: UTF8.self).unicodeScalars.filter { $0 != "\r" && $0 != "\n" }
    let trimmed = String(String.UnicodeScalarView(text))
    if trimmed.hasPrefix("HTTP/"), head == nil {
      status = trimmed.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      fields = []
    } else if trimmed.isEmpty {
      if status >= 200, head == nil { didReceiveHead() }
    } else if let colon = trimmed.firstIndex(of: ":"), head == nil {
      let value = trimmed[trimmed.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      fields.append((String(trimmed[..<colon]), String(value)))
    }
    return true
  }

  private func didReceiveHead() {
    let head = ServiceHead(status: status, fields: fields)
    self.head = head
    let headReader = headReader
    self.headReader = nil
    headReader?(.success(head))
  }

  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    lastActivity = .now
    if let reader {
      self.reader = nil
      reader(.success(Array(bytes)))
      return .accepted
    }
    buffer.append(contentsOf: bytes)
    guard buffer.count >= ClientLimits.bufferedBytes.value else { return .accepted }
    isHeld = true
    return .acceptedThenHolding(isUploadHeld ? [.receive, .send] : .receive)
  }

  /// Passes the next bytes to `reader`; `nil` at the end. Only one reader may wait.
  func read(_ reader: @escaping (Result<[UInt8]?, ServiceError>) -> Void) {
    precondition(self.reader == nil, "one reader at a time")
    guard buffer.isEmpty else {
      let bytes = buffer
      buffer = []
      reader(.success(bytes))
      guard isHeld else { return }
      isHeld = false
      return resume()
    }
    guard hasEnded else {
      self.reader = reader
      return
    }
    reader(failure.map { .failure($0) } ?? .success(nil))
  }

  private func resume() {
    guard let easy else { return }
    lastActivity = .now
    var held: FlowDirections = []
    if isHeld { held.insert(.receive) }
    if isUploadHeld { held.insert(.send) }
    client.setPaused(easy, held)
  }

  // MARK: End

  func cancel(_ reason: ServiceError = .cancelled) {
    guard !hasEnded else { return }
    failure = failure ?? reason
    if let easy { client.end(easy) } else { settle(reason) }
  }

  func end(_ easy: EasyHandle, _ result: CurlResult) {
    self.easy = nil
    settle(failure ?? fault(easy, result))
  }

  private func fault(_ easy: EasyHandle, _ result: CurlResult) -> ServiceError? {
    if let uploadFault { return .unreadableBody(uploadFault) }
    switch result {
    case .ok where head != nil: return nil
    case .operationTimedOut: return .timedOut("\(url) did not reply in time")
    case .ok, .weirdServerReply: return .invalidReply("\(url) did not reply in HTTP")
    default: return .unreachable("\(url): \(easy.errorMessage.isEmpty ? result.reason : easy.errorMessage)")
    }
  }

  private func settle(_ failure: ServiceError?) {
    guard !hasEnded else { return }
    hasEnded = true
    self.failure = failure
    if let silenceTimer { loop.cancel(silenceTimer) }
    silenceTimer = nil
    if let headReader {
      self.headReader = nil
      headReader(.failure(failure ?? .invalidReply("\(url) did not reply in HTTP")))
    }
    guard let reader else { return }
    self.reader = nil
    reader(failure.map { .failure($0) } ?? .success(nil))
  }

  /// Ends the exchange after a pause that is too long. A pause that the reader causes does not count.
  private func watchSilence() {
    guard !hasEnded, let silence = request.silence else { return }
    if isHeld { lastActivity = .now }
    guard .now - lastActivity < silence else {
      return cancel(.timedOut("\(url) has sent nothing for \(silence)"))
    }
    silenceTimer = loop.schedule(at: lastActivity + silence) { [weak self] in self?.watchSilence() }
  }
}
