package import Addresses
package import Curl
package import EventLoop

/// Tries whether an origin can be reached now, as a transfer would: its name, a connection, TLS. No request is sent and
/// no connection kept, and the egress policy holds as for transfers.
package final class OriginProbe: @unchecked Sendable {
  // Unchecked: what changes belongs to the loop's thread.
  private let loop: EventLoop
  private let egress: EgressPolicy
  private let authorities: TLSAuthorities
  private let client: CurlClient

  /// - Parameters:
  ///   - loop: one that runs; it does nothing else of the probe's than to carry it.
  ///   - authorities: whom TLS trusts (`TransferEngine.authorities`).
  package init(loop: EventLoop, egress: EgressPolicy, authorities: TLSAuthorities) {
    self.loop = loop
    self.egress = egress
    self.authorities = authorities
    client = CurlClient(loop: loop, maximumIdle: 1)
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
        client.close()
        continuation.resume()
      }
    }
  }

  private func begin(_ url: CurlURL, _ timeout: Duration, _ done: @escaping (ProbeResult) -> Void) {
    // Every probe looks the name up, connects and shakes hands for itself.
    client.renew()
    let attempt = ProbeAttempt(url, gate: EgressGate(egress), timeout: timeout, in: client) { [self] result in
      done(result)
      // Not while libcurl reports the end: nothing of the probe stays open.
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

/// One try. On the loop only.
private final class ProbeAttempt: CurlExchange {
  private let url: CurlURL
  private let timeout: Duration
  private let start = ContinuousClock.now
  private var gate: EgressGate
  /// libcurl asked for an address: it has found some.
  private var hasAddress = false
  /// The last one that it was allowed.
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

  func configure(_ easy: EasyHandle, _ multi: MultiHandle, _ roots: TLSRoots) throws(CurlError) {
    try easy.set(.url, to: url.text)
    try easy.set(.connectOnly, to: 1)
    guard url.scheme == "https" else { return }
    try easy.setTLSVersions(minimum: 12, maximum: 13)
    try easy.setTLS(TLSPolicy(roots: roots, host: url.tlsHost, in: multi))
  }

  func end(_ easy: EasyHandle, _ result: CurlResult) {
    let message =
      switch result {
      case .operationTimedOut: "not within \(timeout)"
      case .abortedByCallback where client.isClosed: "the service stops"
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
