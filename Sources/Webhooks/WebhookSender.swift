internal import Addresses
internal import Curl
internal import EventLoop
internal import HTTPFields
internal import Limits
internal import TransferEngine

/// Posts messages on a loop of its own, until `stop()`. It follows no redirects. The egress policy applies as to origins.
final class WebhookSender: @unchecked Sendable {
  // Unchecked: `client` and `roots` belong to the loop's thread.
  struct Message: Sendable {
    let url: String
    let headers: [String]
    let body: [UInt8]
    /// Whether the response's body is kept, because it answers a decision.
    let wantsReply: Bool
  }

  private let timeout: Duration
  private let loop = EventLoop(name: "ferry-webhooks")
  private let egress: EgressPolicy
  private let authorities: CertificateAuthorities
  private let client: CurlClient
  /// The certificate authorities of the client's current connections.
  private var roots: CertificateAuthoritySet?

  /// - Parameter timeout: the limit of each attempt.
  init(egress: EgressPolicy, authorities: CertificateAuthorities, timeout: Duration = .seconds(15)) {
    self.egress = egress
    self.authorities = authorities
    self.timeout = timeout
    client = CurlClient(loop: loop, maximumIdle: 64)
    loop.start()
  }

  var livenessComponent: LivenessProbe.Component { loop.livenessComponent }

  /// Posts a message.
  /// - Returns: the endpoint's response, or `nil` if the sender stopped before.
  func send(_ message: Message) async -> DeliverySchedule.EndpointResponse? {
    await withCheckedContinuation { continuation in
      loop.perform { [self] in start(message) { continuation.resume(returning: $0) } }
    }
  }

  /// Cancels running attempts and returns when the sender's thread has ended.
  func stop() async {
    await withCheckedContinuation { continuation in
      loop.perform { [self] in
        client.close()
        continuation.resume()
      }
    }
    await loop.stopAndJoin()
  }

  private func start(_ message: Message, _ done: @escaping (DeliverySchedule.EndpointResponse?) -> Void) {
    guard !client.isClosed else { return done(nil) }
    if roots !== authorities.current {
      roots = authorities.current
      client.renew()
    }
    let url: CurlURL
    do throws(CurlURL.Fault) { url = try CurlURL(message.url) } catch {
      return done(.init(status: nil, error: "\(error)"))
    }
    let attempt = WebhookAttempt(
      egress: egress, wantsReply: message.wantsReply, timeout: timeout,
      done: { [client] in done(client.isClosed ? nil : $0) })
    do throws(CurlError) {
      try client.start(attempt, timeout: timeout) { (easy, multi) throws(CurlError) in
        try configure(easy, message, to: url, multi)
      }
    } catch {
      done(.init(status: nil, error: "\(error)"))
    }
  }

  private func configure(
    _ easy: EasyHandle, _ message: Message, to url: CurlURL, _ multi: MultiHandle
  ) throws(CurlError) {
    try easy.set(.url, to: message.url)
    try easy.set(.userAgent, to: "Ferry-Webhooks")
    try easy.set(.post, to: 1)
    try easy.setBody(message.body)
    try easy.setHeaders(message.headers + ["Content-Type: application/json", "Expect:"])
    guard url.scheme == "https", let roots else { return }
    try easy.setTLS(TLSPolicy(roots: roots, host: url.tlsHost, in: multi))
  }
}

/// One attempt of a delivery.
private final class WebhookAttempt: CurlExchange {
  private let done: (DeliverySchedule.EndpointResponse) -> Void
  private var gate: EgressGate
  private let wantsReply: Bool
  private let timeout: Duration
  private var retryAfter: String?
  private var reply: [UInt8] = []
  private static let maximumReply = Limits.webhookReplyBytes.value
  private static let maximumHead = Limits.webhookHeadBytes.value
  private var headSize = 0

  init(
    egress: EgressPolicy, wantsReply: Bool, timeout: Duration,
    done: @escaping (DeliverySchedule.EndpointResponse) -> Void
  ) {
    self.wantsReply = wantsReply
    self.timeout = timeout
    gate = EgressGate(egress)
    self.done = done
  }

  func end(_ easy: EasyHandle, _ result: CurlResult) { done(answer(easy, result)) }

  private func answer(_ easy: EasyHandle, _ result: CurlResult) -> DeliverySchedule.EndpointResponse {
    if result == .operationTimedOut { return .init(status: nil, error: "no reply within \(timeout)") }
    if let refusedRule = gate.refusedRule {
      return .init(status: nil, error: "destination not permitted: \(refusedRule)")
    }
    if refusesHead { return .init(status: nil, error: "the head of the reply is too large") }
    guard result == .ok else { return .init(status: nil, error: "libcurl error \(result.code)") }
    var answer = DeliverySchedule.EndpointResponse(status: easy.info(.responseCode), retryAfter: retryAfter)
    answer.body = reply
    return answer
  }

  private var refusesHead: Bool { headSize > Self.maximumHead }

  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    headSize += line.count
    guard !refusesHead else { return false }
    let text = String(decoding: line, as: UTF8.self)
    guard text.lowercasedASCII.hasPrefix("retry-after:") else { return true }
    retryAfter = String(text.unicodeScalars.dropFirst(12).prefix { $0 != "\r" && $0 != "\n" })
    return true
  }

  /// Keeps the body of a response that answers a decision, and fails the attempt if the body exceeds the limit. Other bodies are
  /// discarded.
  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    guard wantsReply else { return .accepted }
    guard reply.count + bytes.count <= Self.maximumReply else { return .refused }
    reply.append(contentsOf: bytes)
    return .accepted
  }

  func mayConnect(to address: PeerAddress) -> SocketPermission { gate.mayConnect(to: address) }
  func maySendRequest(toAddress address: String) -> Bool { gate.maySendRequest(toAddress: address) }
}
