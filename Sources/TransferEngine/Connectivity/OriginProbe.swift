package import Curl
package import EventLoop
package import TransferModel

/// Tries whether an origin can be reached now, as a transfer would: its name, a connection, TLS. No request is sent and
/// no connection kept, and the egress policy holds as for transfers.
package final class OriginProbe: @unchecked Sendable {
  // Unchecked: what changes belongs to the loop's thread.
  private let loop: EventLoop
  private let egress: EgressPolicy
  private let authorities: TLSAuthorities
  private var attempts: [ObjectIdentifier: ProbeAttempt] = [:]
  private var isClosed = false

  /// - Parameters:
  ///   - loop: one that runs; it does nothing else of the probe's than to carry it.
  ///   - authorities: whom TLS trusts (`TransferEngine.authorities`).
  package init(loop: EventLoop, egress: EgressPolicy, authorities: TLSAuthorities) {
    self.loop = loop
    self.egress = egress
    self.authorities = authorities
  }

  /// - Parameter timeout: for all steps together.
  package func probe(_ url: CurlURL, timeout: Duration) async -> ProbeResult {
    await withCheckedContinuation { continuation in
      loop.perform { [self] in begin(url, timeout) { continuation.resume(returning: $0) } }
    }
  }

  /// Ends what is under way; before the loop stops.
  package func close() async {
    await withCheckedContinuation { continuation in
      loop.perform { [self] in
        isClosed = true
        for attempt in attempts.values { attempt.end(.abortedByCallback, Self.stopping) }
        continuation.resume()
      }
    }
  }

  // MARK: On the loop

  private func begin(_ url: CurlURL, _ timeout: Duration, _ done: @escaping (ProbeResult) -> Void) {
    guard !isClosed else { return done(.untried(url, .abortedByCallback, Self.stopping)) }
    do throws(CurlError) {
      let attempt = try ProbeAttempt(url, on: loop, gate: EgressGate(egress), roots: authorities.current)
      let id = ObjectIdentifier(attempt)
      attempts[id] = attempt
      do throws(CurlError) {
        try attempt.configure()
      } catch {
        forget(id)
        throw error
      }
      attempt.start(timeout: timeout) { [weak self] result in
        done(result)
        guard let self else { return }
        // Not now: a multi handle is not closed while it tells of a completion.
        loop.perform { [self] in forget(id) }
      }
    } catch {
      done(.untried(url, error.result, error.operation))
    }
  }

  private func forget(_ id: ObjectIdentifier) { attempts.removeValue(forKey: id)?.close() }

  private static let stopping = "the service stops"
}

/// One try. On the loop only.
private final class ProbeAttempt: EasyHandleDelegate {
  private let url: CurlURL
  private let loop: EventLoop
  private let roots: TLSRoots
  private let transport: CurlTransport
  private let easy: EasyHandle
  private let start = ContinuousClock.now
  private var gate: EgressGate
  /// libcurl asked for an address: it has found some.
  private var hasAddress = false
  /// The last one that it was allowed.
  private var address: IPAddress?
  private var timer: LoopTimer?
  private var done: ((ProbeResult) -> Void)?

  init(_ url: CurlURL, on loop: EventLoop, gate: EgressGate, roots: TLSRoots) throws(CurlError) {
    self.url = url
    self.loop = loop
    self.gate = gate
    self.roots = roots
    easy = try EasyHandle()
    transport = try CurlTransport(loop: loop, multiplexing: false, maximumIdleConnections: 1)
  }

  func close() {
    if let timer { loop.cancel(timer) }
    transport.close()
  }

  func configure() throws(CurlError) {
    try easy.set(.url, to: url.text)
    try easy.set(.connectOnly, to: 1)
    try easy.set(.noSignal, to: 1)
    try easy.set(.pathAsIs, to: 1)
    try easy.set(.quickExit, to: 1)
    try easy.set(.protocols, to: "http,https")
    try easy.set(.proxy, to: "")
    try easy.set(.noProxy, to: "")
    if url.scheme == "https" {
      try easy.setTLSVersions(minimum: 12, maximum: 13)
      try easy.setTLS(TLSPolicy(roots: roots, host: url.tlsHost, in: transport.multi))
    }
    try easy.setCallbacks(self, in: transport.multi)
  }

  /// - Parameter done: called once.
  func start(timeout: Duration, _ done: @escaping (ProbeResult) -> Void) {
    self.done = done
    transport.onCompletion = { [unowned self] completion in end(completion.result, easy.errorMessage) }
    timer = loop.schedule(at: .now + timeout) { [weak self] in
      self?.end(.operationTimedOut, "not within \(timeout)")
    }
    do throws(CurlError) { try transport.add(easy) } catch { end(error.result, error.operation) }
  }

  /// The first call counts.
  func end(_ result: CurlResult, _ message: String) {
    guard let done else { return }
    self.done = nil
    done(report(result, message))
  }

  private func report(_ result: CurlResult, _ message: String) -> ProbeResult {
    let isOK = result == .ok
    let hasTLS = url.scheme == "https"
    let connect = isOK ? Double(easy.info(.connectTime)) / 1e6 : easy.handshakeStart.map(seconds(to:))
    var failure = isOK ? nil : ProbeResult.Failure(result: result, message: message)
    failure?.verifyResult = easy.info(.sslVerifyResult)
    failure?.errno = easy.info(.osErrno)
    // Of several addresses one may have been refused and another not.
    if connect == nil || result == .abortedByCallback { failure?.rule = gate.refusedRule }
    return ProbeResult(
      times: (
        nameLookup: hasAddress ? Double(easy.info(.nameLookupTime)) / 1e6 : nil,
        connect: connect,
        tls: isOK && hasTLS ? Double(easy.info(.appConnectTime)) / 1e6 : nil
      ), total: seconds(to: .now), hasTLS: hasTLS,
      remoteAddress: easy.info(.remoteAddress) ?? address?.description,
      failure: failure)
  }

  private func seconds(to end: ContinuousClock.Instant) -> Double {
    let (seconds, attoseconds) = start.duration(to: end).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { true }
  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition { .refused }
  func mayConnect(to address: PeerAddress) -> SocketPermission {
    hasAddress = true
    let permission = gate.mayConnect(to: address)
    if permission != .refused { self.address = IPAddress(address) }
    return permission
  }
  func maySendRequest(toAddress address: String) -> Bool { gate.maySendRequest(toAddress: address) }
}
