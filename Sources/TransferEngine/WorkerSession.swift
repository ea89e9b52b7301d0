internal import Curl
internal import EventLoop
internal import TransferModel

/// What a session has on its worker: connections, what they were let in with, limits. On the worker's loop only.
final class WorkerSession {
  /// A chain that the delegate trusts, and whose it is.
  private struct AcceptedChain: Hashable {
    let host: String
    let port: Int
    let digest: [UInt8]
  }
  private struct Peer: Hashable {
    let host: String
    let port: Int
    /// The certificate that it is shown.
    let certificate: String?
  }

  let id: SessionID
  let configuration: SessionConfiguration
  let limit: SharedLimit?
  var authentication = AuthenticationCache()
  /// Connections whose handshake waits for the delegate; others may wait for them.
  var heldHandshakes = 0
  private let delegate: SessionDelegate?
  private let roots: TLSRoots
  private var acceptedChains: Set<AcceptedChain> = []
  private var policies: [Peer: TLSPolicy] = [:]
  private var openTransport: CurlTransport?
  /// Those whose last transfers are still under way.
  private var retired: [CurlTransport] = []

  /// - Parameter roots: the service's own; the session's come on top. No file is read.
  init(job: TransferJob, roots: TLSRoots) throws {
    id = job.session
    configuration = job.configuration
    delegate = job.delegate
    limit = job.configuration.maximumBytesPerSecond.map { SharedLimit(bytesPerSecond: $0) }
    self.roots =
      try configuration.tlsAdditionalRootCertificates.map {
        try TLSRoots(base: roots, pem: $0)
      } ?? roots
  }

  func transport(
    on loop: EventLoop, completed: @escaping (MultiHandle.Completion) -> Void,
    held: @escaping (CurlTransport, EasyHandle, TLSHandshake) -> Void
  ) throws -> CurlTransport {
    if let openTransport { return openTransport }
    let transport = try CurlTransport(
      loop: loop, multiplexing: configuration.httpShouldUsePipelining,
      maximumIdleConnections: max(64, configuration.httpMaximumConnectionsPerHost * 4))
    transport.onCompletion = completed
    transport.onHandshake = held
    openTransport = transport
    return transport
  }

  /// The next request opens connections of its own, and resumes no TLS session of before.
  func retireConnections() {
    guard let transport = openTransport else { return }
    openTransport = nil
    policies.removeAll()  // they belong to its multi handle
    retired.removeAll { $0.isClosed }
    retired.append(transport)
    transport.closeWhenEmpty()
  }

  /// Nothing of it is under way any more.
  var isClosed: Bool { openTransport == nil && retired.allSatisfy(\.isClosed) }

  func closeNow() {
    for transport in retired + [openTransport].compactMap({ $0 }) { transport.close() }
    retired = []
    openTransport = nil
  }

  // MARK: TLS

  /// By what the peers of an https origin are judged.
  /// - Parameter certificate: the client's, that is shown where nobody is asked.
  func policy(
    for url: CurlURL, certificate: Credential?, in multi: MultiHandle
  ) throws(TLSIdentity.Fault) -> TLSPolicy {
    var shown: (pem: String, key: String)?
    if case .certificate(let pem, let key) = certificate?.kind { shown = (pem, key) }
    let peer = Peer(host: url.tlsHost, port: url.port, certificate: shown?.pem)
    if let known = policies[peer] { return known }
    var identity: TLSIdentity?
    if let shown { identity = try TLSIdentity(certificate: shown.pem, key: shown.key) }
    let pins = configuration.tlsPinnedPublicKeys.filter { $0.covers(peer.host) }.flatMap(\.keys)
    let policy = TLSPolicy(
      roots: roots, host: peer.host, pins: pins,
      asksForTrust: delegate?.challengeEvent(for: .serverTrust) != nil,
      asksForCertificate: delegate?.challengeEvent(for: .clientCertificate) != nil, identity: identity,
      in: multi)
    // A crawl over very many hosts must not keep them all.
    if policies.count >= 1024 { policies.removeAll() }
    policies[peer] = policy
    return policy
  }

  func accepts(_ handshake: TLSHandshake, of url: CurlURL) -> Bool {
    acceptedChains.contains(AcceptedChain(host: url.host, port: url.port, digest: handshake.chainDigest))
  }

  /// From here on the session trusts that chain for that host.
  func accept(_ handshake: TLSHandshake, of url: CurlURL) {
    acceptedChains.insert(AcceptedChain(host: url.host, port: url.port, digest: handshake.chainDigest))
  }

  /// Credentials were taken away, or replaced.
  func forgetCredentials(for spaces: [ProtectionSpace]) {
    authentication.forget { known in spaces.contains { $0.covers(known) } }
    policies.removeAll()
    // A connection is what a client certificate was shown on.
    if spaces.contains(where: { $0.authenticationMethod == .clientCertificate }) { retireConnections() }
  }
}

extension CurlURL {
  /// Who asks for credentials there.
  var place: ProtectionSpace {
    ProtectionSpace(host: tlsHost, port: port, protocolName: scheme)
  }
}

extension ProxyServer {
  var place: ProtectionSpace {
    ProtectionSpace(host: host, port: port, protocolName: kind.rawValue, isProxy: true)
  }
}
