internal import Addresses
internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPCache
internal import Limits
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
    let waitsAtEnd: Bool
    /// Whose connections hear of it.
    let multi: ObjectIdentifier
  }

  /// What tells connections apart that go to the same place: each is used only by transfers of its own kind.
  struct Lane: Hashable {
    /// The classes of interfaces that it may lead through.
    var classes: InterfaceClasses
    /// How its packets are marked.
    var codePoint: UInt8
    /// Who is asked in its handshake: tasks may have delegates of their own.
    var asksForTrust: Bool
    var asksForCertificate: Bool
  }

  let id: SessionID
  private(set) var configuration: SessionConfiguration
  /// Approximate bytes of a large configuration and of the certificates parsed from it; 0: the configuration is small.
  let size: Int
  /// Its configuration is an outline, until its next job comes.
  private(set) var isResting = false
  let limit: SharedLimit?
  /// Where the bodies of its tasks go.
  let bodies: any BlobStore
  /// nil: nothing is stored.
  let cache: SessionCache?
  /// What is being asked about while it answers already.
  var revalidating: Set<String> = []
  var authentication = AuthenticationCache()
  /// Of resumable uploads.
  var uploadVersions = UploadVersions()
  /// Origins whose connections take many requests at once (HTTP/2).
  private var multiplexing: Set<String> = []
  /// Connections whose handshake waits for the delegate; others may wait for them.
  var heldHandshakes = 0
  /// Transfers that have a handle in one of its multi handles.
  var handlesInUse = 0
  /// The service's certificate authorities joined with the session's; nil until the session's are parsed.
  private var roots: TLSRoots?
  private var ownRoots: TLSRoots?
  private var serviceRoots: TLSRoots
  private var acceptedChains: Set<AcceptedChain> = []
  private var policies: [Peer: TLSPolicy] = [:]
  private var openTransports: [Lane: CurlTransport] = [:]
  /// Those whose last transfers are still under way.
  private var retired: [CurlTransport] = []

  /// - Parameters:
  ///   - roots: the service's own; the session's come on top.
  ///   - post: runs a closure on the worker's loop.
  init(
    job: TransferJob, roots: TLSRoots, settings: EngineSettings, post: @escaping ResponseCache.Post
  ) {
    let capacities = job.configuration.urlCache
    cache = settings.caches?.cache(
      of: job.session, job.sessionType, capacities, countingIn: settings.memoryFiles, post: post
    ).map {
      SessionCache(
        $0, capacities, isOnDisk: capacities.diskCapacity > 0, pool: settings.pool, post: post)
    }
    id = job.session
    bodies = settings.bodies(of: job.session, job.sessionType)
    configuration = job.configuration
    let certificates = configuration.tlsAdditionalRootCertificates?.utf8.count ?? 0
    size = configuration.isLarge ? configuration.variableSize + 3 * certificates : 0
    limit = job.configuration.maximumBytesPerSecond.map { SharedLimit(bytesPerSecond: $0) }
    serviceRoots = roots
    if configuration.tlsAdditionalRootCertificates == nil { self.roots = roots }
  }

  /// The session's certificates in PEM, if not parsed yet. No request is sent before they are.
  var unparsedRoots: String? { roots == nil ? configuration.tlsAdditionalRootCertificates : nil }

  var mayRest: Bool { size > 0 && !isResting }

  /// Drops the large members, which the next job brings again. No transfer may refer to the session.
  func rest() {
    guard mayRest else { return }
    if configuration.tlsAdditionalRootCertificates != nil { (roots, ownRoots) = (nil, nil) }
    configuration = configuration.outline
    isResting = true
  }

  func wake(for job: TransferJob) {
    guard isResting else { return }
    configuration = job.configuration
    isResting = false
  }

  /// Sets the session's parsed certificate authorities.
  func use(ownRoots own: TLSRoots) {
    guard !isResting else { return }
    ownRoots = own
    roots = TLSRoots(own, and: serviceRoots)
  }

  /// Peers of new connections are judged by these from here on, and the session's own.
  func replaceRoots(_ base: TLSRoots) {
    serviceRoots = base
    if roots != nil { roots = ownRoots.map { TLSRoots($0, and: base) } ?? base }
    policies.removeAll()
    retireConnections()
  }

  func transport(
    on loop: EventLoop, in lane: Lane,
    completed: @escaping (MultiHandle.Completion) -> Void,
    held: @escaping (CurlTransport, EasyHandle, TLSHandshake) -> Void
  ) throws -> CurlTransport {
    if let open = openTransports[lane] { return open }
    let transport = try CurlTransport(
      loop: loop, multiplexing: configuration.httpShouldUsePipelining,
      maximumIdleConnections: max(64, configuration.httpMaximumConnectionsPerHost * 4))
    transport.onCompletion = completed
    transport.onHandshake = held
    openTransports[lane] = transport
    return transport
  }

  /// What its connections take of the process's descriptors.
  var descriptors: Int { openTransports.values.reduce(0) { $0 + $1.multi.descriptors } }

  /// The next request opens connections of its own, and resumes no TLS session of before.
  func retireConnections() {
    guard !openTransports.isEmpty else { return }
    policies.removeAll()  // they belong to a multi handle
    retired.removeAll { $0.isClosed }
    for transport in openTransports.values {
      retired.append(transport)
      transport.closeWhenEmpty()
    }
    openTransports.removeAll()
  }

  /// Streams of one connection (RFC 9113 §6.5.2 recommends no fewer).
  private static let streams = 100

  /// Requests that may be under way to an origin. The limit is one of HTTP/1.1's connections: streams that share one do
  /// not count (URLSessionConfiguration.httpMaximumConnectionsPerHost).
  func requestsAtOnce(to origin: String) -> Int {
    let limit = configuration.httpMaximumConnectionsPerHost
    return multiplexing.contains(origin) ? max(limit, Self.streams) : limit
  }

  /// An origin was found to multiplex, or not to any more. True where that is news.
  func note(_ origin: String, multiplexes: Bool) -> Bool {
    guard configuration.httpShouldUsePipelining, multiplexing.contains(origin) != multiplexes else {
      return false
    }
    if multiplexes { multiplexing.insert(origin) } else { multiplexing.remove(origin) }
    return true
  }

  /// As if nothing had been sent yet.
  func reset() {
    authentication = AuthenticationCache()
    acceptedChains.removeAll()
    multiplexing.removeAll()
    retireConnections()
  }

  /// Nothing of it is under way any more.
  var isClosed: Bool { openTransports.isEmpty && retired.allSatisfy(\.isClosed) }

  func closeNow() {
    for transport in retired + openTransports.values { transport.close() }
    retired = []
    openTransports.removeAll()
  }

  // MARK: TLS

  /// By what the peers of an https origin are judged.
  /// - Parameters:
  ///   - certificate: the client's, that is shown where nobody is asked.
  ///   - job: says who is asked; the same for all that use `multi`.
  ///   - waitsAtEnd: handshakes are held when they are over.
  func policy(
    for url: CurlURL, certificate: Credential?, asked job: TransferJob, waitsAtEnd: Bool = false,
    in multi: MultiHandle
  ) throws(TLSIdentity.Fault) -> TLSPolicy {
    var shown: (pem: String, key: String)?
    if case .certificate(let pem, let key) = certificate?.kind { shown = (pem, key) }
    let peer = Peer(
      host: url.tlsHost, port: url.port, certificate: shown?.pem, waitsAtEnd: waitsAtEnd,
      multi: ObjectIdentifier(multi))
    if let known = policies[peer] { return known }
    guard let roots else {
      preconditionFailure("request sent before the session's root certificates were parsed")
    }
    var identity: TLSIdentity?
    if let shown { identity = try TLSIdentity(certificate: shown.pem, key: shown.key) }
    let pins = configuration.tlsPinnedPublicKeys.filter { $0.covers(peer.host) }.flatMap(\.keys)
    let policy = TLSPolicy(
      roots: roots, host: peer.host, pins: pins,
      asksForTrust: job.asksForTrust, asksForCertificate: job.asksForCertificate, waitsAtEnd: waitsAtEnd,
      identity: identity, in: multi)
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
    if acceptedChains.count >= Limits.trustedChains.value { acceptedChains.removeAll() }
    acceptedChains.insert(AcceptedChain(host: url.host, port: url.port, digest: handshake.chainDigest))
  }

  /// Credentials were taken away, or replaced.
  func forgetCredentials(for spaces: [ProtectionSpace]) {
    let hosts = Dictionary(grouping: spaces, by: \.host)
    authentication.forget { known in hosts[known.host]?.contains { $0.covers(known) } == true }
    // What somebody else was shown there is not for whoever comes next.
    cache?.removeAll(at: spaces)
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
