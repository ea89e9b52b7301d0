internal import Curl
internal import EventLoop
internal import Limits
internal import Synchronization
internal import TransferEngine
internal import TransferModel

/// Posts messages on a loop of its own. Redirects are never followed, and the egress policy holds as for origins.
final class WebhookSender: @unchecked Sendable {
  // Unchecked: what is not behind `mailbox` belongs to the loop's thread.
  struct Message: Sendable {
    let url: String
    let headers: [String]
    let body: [UInt8]
    /// The reply answers a decision: its body is kept.
    let wantsReply: Bool
  }
  private struct Post: Sendable {
    let message: Message
    /// Called with nil where the sender stopped first.
    let done: @Sendable (DeliverySchedule.Answer?) -> Void
  }
  private struct Mail {
    var posts: [Post] = []
    var whenClosed: (@Sendable () -> Void)?
  }

  private let timeout: Duration
  private let loop = EventLoop(name: "ferry-webhooks")
  private let egress: EgressPolicy
  private let authorities: TLSAuthorities
  private let mailbox = Mutex(Mail())
  private let makeTransport: (EventLoop) throws -> any WebhookTransport
  private var transport: (any WebhookTransport)?
  /// By what its connections were judged.
  private var roots: TLSRoots?
  /// Those whose last requests are still under way.
  private var retired: [any WebhookTransport] = []
  private var attempts: [ObjectIdentifier: WebhookAttempt] = [:]
  private let handles = EasyHandlePool(maximumIdle: 64)

  /// - Parameter timeout: of each attempt.
  init(
    egress: EgressPolicy, authorities: TLSAuthorities, timeout: Duration = .seconds(15),
    transport: @escaping (EventLoop) throws -> any WebhookTransport = {
      try CurlTransport(loop: $0, multiplexing: false, maximumIdleConnections: 64)
    }
  ) {
    self.egress = egress
    self.authorities = authorities
    self.timeout = timeout
    makeTransport = transport
    loop.atEndOfTick { [self] in takeMail() }  // kept alive by its loop, until that stops
    loop.start()
  }

  var pulse: Pulse.Part { loop.pulse }

  /// What the endpoint answered; nil where the sender stopped before it did.
  func send(_ message: Message) async -> DeliverySchedule.Answer? {
    await withCheckedContinuation { continuation in
      mailbox.withLock { $0.posts.append(Post(message: message) { continuation.resume(returning: $0) }) }
      loop.wake()
    }
  }

  /// Drops what is under way and returns when the sender's thread is gone.
  func stop() async {
    await withCheckedContinuation { continuation in
      mailbox.withLock { $0.whenClosed = { continuation.resume() } }
      loop.wake()
    }
    await loop.stopAndJoin()
  }

  private func takeMail() {
    let mail = mailbox.withLock { mailbox in
      defer { mailbox.posts.removeAll() }
      return mailbox
    }
    if let whenClosed = mail.whenClosed {
      close(mail.posts)
      return whenClosed()
    }
    for post in mail.posts {
      do { try start(post) } catch { post.done(.init(status: nil, error: "\(error)")) }
    }
  }

  private func close(_ posts: [Post]) {
    for open in retired { open.close() }
    retired.removeAll()
    transport?.close()
    transport = nil
    for attempt in attempts.values { attempt.done(nil) }
    attempts.removeAll()
    for post in posts { post.done(nil) }
    mailbox.withLock { $0.whenClosed = nil }
  }

  private func start(_ post: Post) throws {
    let transport = try openTransport()
    let easy = try handles.take()
    let attempt = WebhookAttempt(
      easy: easy, egress: egress, wantsReply: post.message.wantsReply, done: post.done)
    attempt.transport = transport
    try configure(easy, post.message, transport.multi)
    try easy.setCallbacks(attempt, in: transport.multi)
    // From here on `finish` answers, and nobody else: an attempt that did not begin is none.
    attempts[ObjectIdentifier(easy)] = attempt
    do { try transport.add(easy) } catch {
      attempts[ObjectIdentifier(easy)] = nil
      throw error
    }
    attempt.timer = loop.schedule(at: .now + timeout) { [weak self] in self?.timedOut(easy) }
  }

  private func configure(_ easy: EasyHandle, _ message: Message, _ multi: MultiHandle) throws {
    try easy.set(.url, to: message.url)
    try easy.set(.noSignal, to: 1)
    try easy.set(.pathAsIs, to: 1)
    try easy.set(.quickExit, to: 1)
    try easy.set(.followLocation, to: 0)
    try easy.set(.protocols, to: "http,https")
    try easy.set(.proxy, to: "")
    try easy.set(.userAgent, to: "Ferry-Webhooks")
    try easy.set(.post, to: 1)
    try easy.setBody(message.body)
    try easy.setHeaders(message.headers + ["Content-Type: application/json", "Expect:"])
    try easy.set(.noProxy, to: "")
    let url = try CurlURL(message.url)
    guard url.scheme == "https", let roots else { return }
    try easy.setTLS(TLSPolicy(roots: roots, host: url.tlsHost, in: multi))
  }

  private func openTransport() throws -> any WebhookTransport {
    let current = authorities.current
    if let transport, roots === current { return transport }
    retired.removeAll(where: \.isClosed)
    if let transport {
      retired.append(transport)
      transport.closeWhenEmpty()
    }
    roots = current
    transport = nil
    let opened = try makeTransport(loop)
    opened.onCompletion = { [unowned self] completion in
      finish(completion.easy) { $0.answer(completion.result) }
    }
    transport = opened
    return opened
  }

  private func timedOut(_ easy: EasyHandle) {
    attempts[ObjectIdentifier(easy)]?.transport?.remove(easy)
    finish(easy) { _ in .init(status: nil, error: "no answer within \(timeout)") }
  }

  private func finish(_ easy: EasyHandle, _ answer: (WebhookAttempt) -> DeliverySchedule.Answer) {
    guard let attempt = attempts.removeValue(forKey: ObjectIdentifier(easy)) else { return }
    if let timer = attempt.timer { loop.cancel(timer) }
    let result = answer(attempt)
    if result.error == nil { handles.give(easy) }
    attempt.done(result)
  }
}

/// One POST on its way.
private final class WebhookAttempt: EasyHandleDelegate {
  let easy: EasyHandle
  let done: @Sendable (DeliverySchedule.Answer?) -> Void
  var timer: LoopTimer?
  var transport: (any WebhookTransport)?
  private var gate: EgressGate
  private let wantsReply: Bool
  private var retryAfter: String?
  private var reply: [UInt8] = []
  private static let maximumReply = Limits.webhookReplyBytes.value
  private static let maximumHead = Limits.webhookHeadBytes.value
  private var headSize = 0

  init(
    easy: EasyHandle, egress: EgressPolicy, wantsReply: Bool,
    done: @escaping @Sendable (DeliverySchedule.Answer?) -> Void
  ) {
    self.easy = easy
    self.wantsReply = wantsReply
    gate = EgressGate(egress)
    self.done = done
  }

  func answer(_ result: CurlResult) -> DeliverySchedule.Answer {
    if let refusedRule = gate.refusedRule {
      return .init(status: nil, error: "destination not permitted: \(refusedRule)")
    }
    if refusesHead { return .init(status: nil, error: "the head of the reply is too large") }
    guard result == .ok else { return .init(status: nil, error: "libcurl error \(result.code)") }
    var answer = DeliverySchedule.Answer(status: easy.info(.responseCode), retryAfter: retryAfter)
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

  /// The reply's body is of use only where it is an answer, and an endless one never.
  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    guard wantsReply else { return .accepted }
    guard reply.count + bytes.count <= Self.maximumReply else { return .refused }
    reply.append(contentsOf: bytes)
    return .accepted
  }

  func mayConnect(to address: PeerAddress) -> SocketPermission { gate.mayConnect(to: address) }
  func maySendRequest(toAddress address: String) -> Bool { gate.maySendRequest(toAddress: address) }
}
