package import Addresses
package import Curl
package import EventLoop
internal import HTTPFields
internal import Limits
internal import TransferEngine
package import TransferService

/// Posts messages on a loop of its own, until `stop()`. It follows no redirects. The egress policy applies as to origins.
package final class WebhookSender: MessageSender, @unchecked Sendable {
  // Unchecked: `client` and `roots` belong to the loop's thread.

  private let timeout: Duration
  private let loop = EventLoop(name: "ferry-webhooks")
  private let egress: EgressPolicy
  private let authorities: CertificateAuthorities
  private let client: CurlClient
  /// The certificate authorities of the client's current connections.
  private var roots: CertificateAuthoritySet?

  /// - Parameter timeout: the limit of each attempt.
  package init(
    egress: EgressPolicy, authorities: CertificateAuthorities, timeout: Duration = .seconds(15)
  ) {
    self.egress = egress
    self.authorities = authorities
    self.timeout = timeout
    client = CurlClient(loop: loop, maximumIdle: 64)
    loop.start()
  }

  /// The liveness of the sender's loop.
  package var livenessComponent: LivenessProbe.Component { loop.livenessComponent }

  package func send(
    _ message: OutgoingMessage, _ done: @escaping @Sendable (DeliverySchedule.EndpointResponse?) -> Void
  ) {
    loop.perform { [self] in start(message, done) }
  }

  package func afterResponses(_ work: @escaping @Sendable () -> Void) {
    loop.perform { [loop] in loop.atEndOfTick(work) }
  }

  /// Timers on the sender's loop.
  package var timers: TimerSource { TimerSource(on: loop) }

  /// Cancels running attempts and returns when the sender's thread has ended.
  package func stop() async {
    await withCheckedContinuation { continuation in
      loop.perform { [self] in
        client.close()
        continuation.resume()
      }
    }
    await loop.stopAndJoin()
  }

  private func start(
    _ message: OutgoingMessage, _ done: @escaping (DeliverySchedule.EndpointResponse?) -> Void
  ) {
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
    _ easy: EasyHandle, _ message: OutgoingMessage, to url: CurlURL, _ multi: MultiHandle
  ) throws(CurlError) {
    try easy.set(.url, to: url.text)
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
  private var size = 0
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
    let isCut = size > Self.maximumReply && !wantsReply
    guard result == .ok || isCut else {
      return .init(status: nil, error: "\(result.reason) (libcurl error \(result.code))")
    }
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

  /// Keeps the beginning of the body for display. If the body answers a decision, it is kept whole, and the attempt fails if it exceeds
  /// the limit. Otherwise the response ends at the limit.
  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    size += bytes.count
    guard !wantsReply else {
      guard size <= Self.maximumReply else { return .refused }
      reply.append(contentsOf: bytes)
      return .accepted
    }
    reply.append(contentsOf: bytes.prefix(max(0, Limits.shownReplyBytes.value - reply.count)))
    return size <= Self.maximumReply ? .accepted : .refused
  }

  func mayConnect(to address: PeerAddress) -> SocketPermission { gate.mayConnect(to: address) }
  func maySendRequest(toAddress address: String) -> Bool { gate.maySendRequest(toAddress: address) }
}
