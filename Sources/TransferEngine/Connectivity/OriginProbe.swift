package import Addresses
package import Curl
package import EventLoop

/// A test whether an origin can be reached now, as a transfer would: name lookup, connection, TLS. The probe sends no request and keeps no
/// connection. The egress policy applies as for transfers.
package final class OriginProbe: @unchecked Sendable {
  // Unchecked: mutable members are used only on the loop's thread.
  private let loop: EventLoop
  private let egress: EgressPolicy
  private let authorities: CertificateAuthorities
  private let client: CurlClient

  /// - Parameter loop: A running loop that carries the probe.
  package init(loop: EventLoop, egress: EgressPolicy, authorities: CertificateAuthorities) {
    self.loop = loop
    self.egress = egress
    self.authorities = authorities
    client = CurlClient(loop: loop, maximumIdle: 1)
  }

  /// - Parameter timeout: The timeout of all steps together.
  package func probe(_ url: CurlURL, timeout: Duration) async -> ProbeResult {
    await withCheckedContinuation { continuation in
      loop.perform { [self] in begin(url, timeout) { continuation.resume(returning: $0) } }
    }
  }

  /// Ends running probes. Call this before the loop stops.
  package func close() async {
    await withCheckedContinuation { continuation in
      loop.perform { [self] in
        client.close()
        continuation.resume()
      }
    }
  }

  private func begin(_ url: CurlURL, _ timeout: Duration, _ done: @escaping (ProbeResult) -> Void) {
    // Each probe looks up the name, connects and performs the handshake itself.
    client.renew()
    let attempt = ProbeAttempt(url, gate: EgressGate(egress), timeout: timeout, in: client) { [self] result in
      done(result)
      // Closes the probe's connection later, because libcurl is still reporting the end.
      loop.perform { [self] in client.renew() }
    }
    do throws(CurlError) {
      try client.start(attempt, timeout: timeout) { [authorities] (easy, multi) throws(CurlError) in
        try attempt.configure(easy, multi, authorities.current)
      }
    } catch {
      done(.untried(url, error.result, error.operation))
    }
  }
}

/// One attempt. Used only on the loop.
private final class ProbeAttempt: CurlExchange {
  private let url: CurlURL
  private let timeout: Duration
  private let start = ContinuousClock.now
  private var gate: EgressGate
  /// Whether libcurl has found an address.
  private var hasAddress = false
  /// The last permitted address.
  private var address: IPAddress?
  private unowned let client: CurlClient
  private let done: (ProbeResult) -> Void

  init(
    _ url: CurlURL, gate: EgressGate, timeout: Duration, in client: CurlClient,
    done: @escaping (ProbeResult) -> Void
  ) {
    self.url = url
    self.gate = gate
    self.timeout = timeout
    self.client = client
    self.done = done
  }

  func configure(_ easy: EasyHandle, _ multi: MultiHandle, _ roots: CertificateAuthoritySet) throws(CurlError)
  {
    try easy.set(.url, to: url.text)
    try easy.set(.connectOnly, to: 1)
    guard url.scheme == "https" else { return }
    try easy.setTLSVersions(minimum: 12, maximum: 13)
    try easy.setTLS(TLSPolicy(roots: roots, host: url.tlsHost, in: multi))
  }

  func end(_ easy: EasyHandle, _ result: CurlResult) {
    let message =
      switch result {
      case .operationTimedOut: "no connection within \(timeout)"
      case .abortedByCallback where client.isClosed: "the service is stopping"
      default: easy.errorMessage
      }
    done(report(easy, result, message))
  }

  private func report(_ easy: EasyHandle, _ result: CurlResult, _ message: String) -> ProbeResult {
    let isOK = result == .ok
    let hasTLS = url.scheme == "https"
    let connect = isOK ? Double(easy.info(.connectTime)) / 1e6 : easy.handshakeStart.map(seconds(to:))
    var failure = isOK ? nil : ProbeResult.Failure(result: result, message: message)
    failure?.verifyResult = easy.info(.sslVerifyResult)
    failure?.errno = easy.info(.osErrno)
    // One of several addresses may have been refused and another permitted.
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
