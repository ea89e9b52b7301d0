internal import Addresses
internal import BlobStore
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPCache
internal import Limits
internal import TransferModel

/// The engine's part of a session: connections, accepted authentication, limits. Used only on its transfer loop.
final class EngineSession {
  /// A certificate chain that the delegate trusts for a host and port.
  private struct AcceptedChain: Hashable {
    let host: String
    let port: Int
    let digest: [UInt8]
  }
  private struct Peer: Hashable {
    let host: String
    let port: Int
    /// The client certificate for this peer, in PEM.
    let certificate: String?
    let waitsAtEnd: Bool
    /// The multi handle whose connections use the policy.
    let multi: ObjectIdentifier
  }

  /// The properties that connections to the same place may differ in. A transfer uses only connections of its own class.
  struct ConnectionClass: Hashable {
    /// The interface classes that the connection may use.
    var classes: InterfaceClasses
    /// The DSCP code point of its packets.
    var codePoint: UInt8
    /// Whether the delegate is asked in its handshake. Tasks may have different delegates.
    var asksForTrust: Bool
    var asksForCertificate: Bool
  }

  let id: SessionID
  private(set) var configuration: SessionConfiguration
  /// The approximate bytes of a large configuration and of the certificates parsed from it; 0 if the configuration is small.
  let size: Int
  /// Whether the configuration is an outline, until the next job brings the whole.
  private(set) var hasDroppedLargeMembers = false
  let limit: SharedRateLimit?
  /// The blob store of its tasks' bodies.
  let bodies: any BlobStore
  /// `nil` if the session stores no responses.
  let cache: SessionCache?
  /// The cache keys of responses that are being revalidated while they are served stale.
  var revalidating: Set<String> = []
  var authentication = AuthenticationCache()
  /// The versions of resumable uploads that origins support.
  var uploadVersions = UploadVersions()
  /// The origins whose connections carry many requests at once (HTTP/2).
  private var multiplexing: Set<String> = []
  /// The number of connections whose handshake waits for the delegate. Other transfers may wait for these connections.
  var heldHandshakes = 0
  /// The number of transfers with a handle in one of its multi handles.
  var handlesInUse = 0
  /// The service's certificate authorities joined with the session's; `nil` until the session's are parsed.
  private var roots: CertificateAuthoritySet?
  private var ownRoots: CertificateAuthoritySet?
  private var serviceRoots: CertificateAuthoritySet
  private var acceptedChains: Set<AcceptedChain> = []
  private var policies: [Peer: TLSPolicy] = [:]
  private var openTransports: [ConnectionClass: CurlTransport] = [:]
  /// Retired transports whose last transfers still run.
  private var retired: [CurlTransport] = []

  /// - Parameters:
  ///   - roots: The service's own certificate authorities, to which the session's are added.
  ///   - post: Runs a closure on the transfer loop.
  init(
    job: TransferJob, roots: CertificateAuthoritySet, settings: EngineSettings,
    post: @escaping ResponseCache.Post
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
    limit = job.configuration.maximumBytesPerSecond.map { SharedRateLimit(bytesPerSecond: $0) }
    serviceRoots = roots
    if configuration.tlsAdditionalRootCertificates == nil { self.roots = roots }
  }

  /// The session's certificates in PEM; `nil` if there are none or they are parsed. No request is sent before they are.
  var unparsedRoots: String? { roots == nil ? configuration.tlsAdditionalRootCertificates : nil }

  var canDropLargeMembers: Bool { size > 0 && !hasDroppedLargeMembers }

  /// Drops the large members, which the next job brings again. No transfer may refer to the session.
  func dropLargeMembers() {
    guard canDropLargeMembers else { return }
    if configuration.tlsAdditionalRootCertificates != nil { (roots, ownRoots) = (nil, nil) }
    configuration = configuration.outline
    hasDroppedLargeMembers = true
  }

  func wake(for job: TransferJob) {
    guard hasDroppedLargeMembers else { return }
    configuration = job.configuration
    hasDroppedLargeMembers = false
  }

  /// Sets the session's parsed certificate authorities.
  func use(ownRoots own: CertificateAuthoritySet) {
    guard !hasDroppedLargeMembers else { return }
    ownRoots = own
    roots = CertificateAuthoritySet(own, and: serviceRoots)
  }

  /// Replaces the service's certificate authorities, which new connections use together with the session's own.
  func replaceRoots(_ base: CertificateAuthoritySet) {
    serviceRoots = base
    if roots != nil { roots = ownRoots.map { CertificateAuthoritySet($0, and: base) } ?? base }
    policies.removeAll()
    retireConnections()
  }

  func transport(
    on loop: EventLoop, in lane: ConnectionClass,
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

  /// The number of the process's descriptors that its connections use.
  var descriptors: Int { openTransports.values.reduce(0) { $0 + $1.multi.descriptors } }

  /// Retires all open connections: the next request opens a new one and resumes no earlier TLS session.
  func retireConnections() {
    guard !openTransports.isEmpty else { return }
    policies.removeAll()  // The policies belong to a multi handle.
    retired.removeAll { $0.isClosed }
    for transport in openTransports.values {
      retired.append(transport)
      transport.closeWhenEmpty()
    }
    openTransports.removeAll()
  }

  /// The assumed number of streams of a connection (RFC 9113 §6.5.2 recommends at least this many).
  private static let streams = 100

  /// Returns the number of requests that may run to an origin at once. URLSessionConfiguration.httpMaximumConnectionsPerHost limits
  /// connections, so the streams of an HTTP/2 connection count as one.
  func requestsAtOnce(to origin: String) -> Int {
    let limit = configuration.httpMaximumConnectionsPerHost
    return multiplexing.contains(origin) ? max(limit, Self.streams) : limit
  }

  /// Records whether an origin multiplexes. Returns whether this has changed.
  func note(_ origin: String, multiplexes: Bool) -> Bool {
    guard configuration.httpShouldUsePipelining, multiplexing.contains(origin) != multiplexes else {
      return false
    }
    if multiplexes { multiplexing.insert(origin) } else { multiplexing.remove(origin) }
    return true
  }

  /// Drops all that the session has learnt from its connections (URLSession.reset).
  func reset() {
    authentication = AuthenticationCache()
    acceptedChains.removeAll()
    multiplexing.removeAll()
    retireConnections()
  }

  /// Whether no transfer of the session runs.
  var isClosed: Bool { openTransports.isEmpty && retired.allSatisfy(\.isClosed) }

  func closeNow() {
    for transport in retired + openTransports.values { transport.close() }
    retired = []
    openTransports.removeAll()
  }

  // MARK: TLS

  /// Returns the TLS policy for an https origin.
  /// - Parameters:
  ///   - certificate: The client certificate to send if the delegate is not asked.
  ///   - job: Determines what the delegate is asked; equal for all users of `multi`.
  ///   - waitsAtEnd: Whether handshakes are held when they are complete.
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
    // The limit is for crawls over very many hosts.
    if policies.count >= 1024 { policies.removeAll() }
    policies[peer] = policy
    return policy
  }

  func accepts(_ handshake: TLSHandshake, of url: CurlURL) -> Bool {
    acceptedChains.contains(AcceptedChain(host: url.host, port: url.port, digest: handshake.chainDigest))
  }

  /// Trusts that certificate chain for that host from now on.
  func accept(_ handshake: TLSHandshake, of url: CurlURL) {
    if acceptedChains.count >= Limits.trustedChains.value { acceptedChains.removeAll() }
    acceptedChains.insert(AcceptedChain(host: url.host, port: url.port, digest: handshake.chainDigest))
  }

  /// Drops what depends on credentials that were deleted or replaced.
  func forgetCredentials(for spaces: [ProtectionSpace]) {
    let hosts = Dictionary(grouping: spaces, by: \.host)
    authentication.forget { known in hosts[known.host]?.contains { $0.covers(known) } == true }
    // The cache must not serve responses to another user's credential.
    cache?.removeAll(at: spaces)
    policies.removeAll()
    // A client certificate authenticates the whole connection.
    if spaces.contains(where: { $0.authenticationMethod == .clientCertificate }) { retireConnections() }
  }
}

extension CurlURL {
  /// The protection space of credentials for this origin.
  var place: ProtectionSpace {
    ProtectionSpace(host: tlsHost, port: port, protocolName: scheme)
  }

}

extension ProxyServer {
  var place: ProtectionSpace {
    ProtectionSpace(host: host, port: port, protocolName: kind.rawValue, isProxy: true)
  }
}
