import Curl
import EventLoop
import TestSupport
import Testing

/// Handshakes that are held, decided, refused and left, against a real server; C and its fibres on the loop's thread.
@Suite(.serialized, .blocking) struct TLSHandshakeTests {
  enum Act: Sendable {
    case byDefault, trust, refuse
    case identity(certificate: String, key: String)
    /// The transfer is left while its handshake is held.
    case abandon
  }
  struct Seen: Sendable {
    var questions: [String] = []
    var verifyError = 0
    var subjects: [String] = []
    var keys: [[UInt8]] = []
    var issuers: [String] = []
    var result: Int?
    var status = 0
    var body = ""
  }

  /// One transfer at a time; everything of it is on the loop's thread.
  private final class Driver: EasyHandleDelegate, @unchecked Sendable {
    private let loop = EventLoop(name: "test-tls")
    private var transport: CurlTransport?
    private var roots: TLSRoots?
    private var seen = Seen()
    private var acts: [Act] = []
    private var done: ((Seen) -> Void)?

    init() { loop.start() }

    func get(_ url: String, roots: TLSRoots, pins: [[UInt8]] = [], asks: Bool = true, _ acts: [Act]) async
      -> Seen
    {
      await withCheckedContinuation { continuation in
        let executor = OnLoop(loop)
        Task {
          await executor.run { [self] in
            self.acts = acts
            done = { continuation.resume(returning: $0) }
            do { try start(url, roots, pins, asks) } catch { finish(-1) }
          }
        }
      }
    }

    private func start(_ url: String, _ roots: TLSRoots, _ pins: [[UInt8]], _ asks: Bool) throws {
      let transport = try CurlTransport(loop: loop, multiplexing: false, maximumIdleConnections: 4)
      self.transport = transport
      transport.onCompletion = { [self] completion in
        seen.status = completion.easy.info(.responseCode)
        finish(completion.result.code)
      }
      transport.onHandshake = { [self] in held($0, $1, $2) }
      let easy = try EasyHandle()
      self.roots = roots
      try easy.set(.url, to: url)
      try easy.set(.noSignal, to: 1)
      try easy.setHeaders([])
      let host = try CurlURL(url).tlsHost
      try easy.setTLS(
        TLSPolicy(
          roots: roots, host: host, pins: pins, asksForTrust: asks, asksForCertificate: asks,
          in: transport.multi))
      try easy.setCallbacks(self, in: transport.multi)
      try transport.add(easy)
    }

    private func held(_ transport: CurlTransport, _ easy: EasyHandle, _ handshake: TLSHandshake) {
      seen.questions.append("\(handshake.question)")
      if handshake.question == .trust {
        seen.verifyError = handshake.verifyError
        seen.subjects = handshake.chain.map(\.subject)
        seen.keys = handshake.chain.map(\.keySHA256)
      } else {
        seen.issuers = handshake.issuers
      }
      #expect(handshake.isOpen)
      let act = acts.isEmpty ? .byDefault : acts.removeFirst()
      // Not at once: the handshake is held over many turns of the loop.
      loop.schedule(at: .now + .milliseconds(20)) { [self] in decide(transport, easy, handshake, act)
      }
    }

    private func decide(_ transport: CurlTransport, _ easy: EasyHandle, _ handshake: TLSHandshake, _ act: Act)
    {
      switch act {
      case .byDefault: handshake.decide(.byDefault)
      case .trust: handshake.decide(.trust)
      case .refuse: handshake.decide(.refuse)
      case .identity(let certificate, let key):
        guard let identity = try? TLSIdentity(certificate: certificate, key: key) else { return finish(-2) }
        handshake.decide(.identity(identity))
      case .abandon:
        handshake.decide(.refuse)
        return transport.abandon(easy)
      }
      transport.wake(easy, holding: [])
    }

    private func finish(_ code: Int) {
      seen.result = code
      let seen = seen
      transport?.closeWhenEmpty()
      // The next turn: this one is libcurl's.
      loop.schedule(at: .now) { [self] in
        done?(seen)
        done = nil
      }
    }

    func close() { loop.stop() }

    func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { true }
    func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
      seen.body += String(decoding: bytes, as: UTF8.self)
      return .accepted
    }
    func mayConnect(to address: PeerAddress) -> SocketPermission { .granted }
    func maySendRequest(toAddress address: String) -> Bool { true }
  }

  private actor OnLoop {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    init(_ loop: EventLoop) { self.loop = loop }
    func run(_ body: @Sendable () -> Void) { body() }
  }

  private let nginx: NginxServer
  private let kit: CertificateKit

  init() throws {
    nginx = try NginxServer()
    kit = try CertificateKit.shared()
  }

  private func get(
    _ face: NginxServer.Face, path: String = "/hello.txt", host: String = "127.0.0.1", known: Bool = true,
    pins: [[UInt8]] = [], asks: Bool = true, _ acts: Act...
  ) async -> Seen {
    let driver = Driver()
    defer { driver.close() }
    guard let roots = known ? try? TLSRoots(pem: kit.authority) : TLSRoots() else { return Seen() }
    return await driver.get(
      nginx.url(face, path, host: host), roots: roots, pins: pins, asks: asks, acts)
  }

  @Test func whatIsTrustedIsToldAndGoesOn() async {
    let seen = await get(.good, .byDefault)
    #expect(seen.questions == ["trust"] && seen.verifyError == 0 && seen.status == 200 && seen.result == 0)
    #expect(seen.subjects == ["CN=server"] && seen.body.utf8.count == 5000)
  }

  @Test(arguments: [
    (NginxServer.Face.expired, 10), (.notYetValid, 9), (.wrongHost, 62), (.selfSigned, 18),
    (.unknownRoot, 20),
  ])
  func whatIsNotIsToldAndCanBeTrusted(_ face: NginxServer.Face, _ error: Int) async {
    let trusted = await get(face, .trust)
    #expect(trusted.verifyError == error && trusted.status == 200 && trusted.result == 0)
    let judged = await get(face, .byDefault)
    #expect(judged.result == 60 && judged.status == 0 && judged.body.isEmpty)
    let unasked = await get(face, asks: false)
    #expect(unasked.result == 60 && unasked.questions.isEmpty)
  }

  @Test func whatIsRefusedEnds() async {
    let seen = await get(.good, .refuse)
    #expect(seen.result == 60 && seen.body.isEmpty)
  }

  @Test func pinsAreForTheWholeChain() async {
    let first = await get(.intermediate, .byDefault)
    #expect(first.verifyError == 0 && first.keys.count == 2)
    for key in first.keys {
      #expect(await get(.intermediate, pins: [key], asks: false).status == 200)
    }
    let other = [UInt8](repeating: 7, count: 32)
    #expect(await get(.intermediate, pins: [other], asks: false).result == 60)
    #expect(await get(.intermediate, pins: [other, first.keys[0]], asks: false).status == 200)
    #expect(await get(.intermediate, pins: [other], .byDefault).verifyError == 28)
  }

  @Test func aServerThatAsksIsShownACertificate() async throws {
    let client = try #require(kit.leaves[.client])
    let seen = await get(
      .asksForCertificate, path: "/who", .byDefault, .identity(certificate: client, key: kit.key))
    #expect(seen.questions == ["trust", "certificate"] && seen.issuers == ["CN=Authority"])
    #expect(seen.status == 200 && seen.body.contains("CN=client"))
    let none = await get(.asksForCertificate, .byDefault, .byDefault)
    #expect(none.status == 400)
    let refused = await get(.asksForCertificate, .byDefault, .refuse)
    #expect(refused.result == 35 || refused.result == 58)
  }

  /// The server knows the root alone: who signed the client's certificate comes with it.
  @Test func theAuthoritiesBetweenAreShownToo() async throws {
    let client = try #require(kit.leaves[.intermediateClient])
    for face in [NginxServer.Face.asksForCertificate, .optionalCertificate] {
      let seen = await get(face, path: "/who", .byDefault, .identity(certificate: client, key: kit.key))
      #expect(seen.status == 200 && seen.body == "SUCCESS CN=intermediateClient")
    }
  }

  @Test func addressesAndNamesAreToldApart() async {
    #expect(await get(.good, host: "localhost", asks: false).status == 200)
    #expect(await get(.good, host: "127.0.0.1", asks: false).status == 200)
    #expect(await get(.good, host: "127.0.0.2", known: true, asks: false).result != 0)
    #expect(await get(.good, known: false, asks: false).result == 60)
  }

  /// OpenSSL never frees what a paused job holds: left handshakes are refused and end by themselves.
  @Test func aHandshakeThatIsLeftEnds() async {
    for _ in 0..<20 {
      let seen = await get(.good, .abandon)
      #expect(seen.result == 60 && seen.body.isEmpty)
    }
  }

  @Test func whatIsNoCertificateIsSaidSo() throws {
    let client = try #require(kit.leaves[.client])
    #expect(throws: TLSIdentity.Fault.self) { try TLSIdentity(certificate: "nothing", key: kit.key) }
    #expect(throws: TLSIdentity.Fault.self) { try TLSIdentity(certificate: client, key: client) }
    #expect(throws: TLSIdentity.Fault.self) { try TLSIdentity(certificate: kit.authority, key: kit.key) }
    #expect(throws: TLSRoots.Fault.self) { try TLSRoots(pem: "nothing") }
    #expect(throws: TLSRoots.Fault.self) { try TLSRoots(file: "/nowhere") }
    _ = try TLSIdentity(certificate: client + kit.authority, key: kit.key)
    _ = try TLSRoots(pem: kit.authority + client)
  }

  /// What is said of certificates is shown and kept as it is: no key may be in it.
  @Test func nothingButCertificatesIsTakenForThem() throws {
    let client = try #require(kit.leaves[.client])
    let body = client.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n")
    func block(_ name: String, _ body: String) -> String {
      "-----BEGIN \(name)-----\n\(body)\n-----END \(name)-----\n"
    }
    let (authority, key) = (kit.authority, kit.key)
    let empty = block("ANYTHING", "")
    for text in [
      client + key, key + client, client + key + authority, client + empty, empty + client,
      client + key.replacing("-----BEGIN", with: "  -----BEGIN"), client + "x" + key,
      client + key.replacing("KEY-----\n", with: "KEY----- .\n"),
      client + "-----BEGIN EC PRIVATE KEY-----\nMHcC",
      client + key.replacing("EC PRIVATE KEY", with: "CERTIFICATE"), client + "\0" + key,
      client + block("CERTIFICATE", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + body),
      client + block("CERTIFICATE REQUEST", body), key,
    ] {
      let identity = #expect(throws: TLSIdentity.Fault.self) { try TLSIdentity(certificate: text, key: key) }
      #expect(identity?.message.hasPrefix("certificate") == true)
      #expect(throws: TLSRoots.Fault.self) { try TLSRoots(pem: text) }
    }
    #expect(throws: TLSIdentity.Fault.self) { try TLSIdentity(certificate: client, key: key + "\0") }
    let fault = #expect(throws: TLSRoots.Fault.self) { try TLSRoots(pem: client + key) }
    #expect(fault?.message == "holds more than certificates")
    for text in [
      "subject=CN = client\n" + client + "\n# between\n" + authority, client.replacing("\n", with: "\r\n"),
      block("X509 CERTIFICATE", body), block("TRUSTED CERTIFICATE", body),
    ] {
      _ = try TLSIdentity(certificate: text, key: key)
      _ = try TLSRoots(pem: text)
    }
  }

  /// A session's certificate authorities are added to the service's.
  @Test func joinedRootsTrustPeersOfBothSets() async throws {
    let odd = try #require(kit.leaves[.selfSigned])
    let base = try TLSRoots(pem: kit.authority)
    let both = TLSRoots(try TLSRoots(pem: odd + kit.authority), and: base)
    // Successful lookups run twice: the second one is served from OpenSSL's own store.
    for (face, roots, result) in [
      (NginxServer.Face.good, both, 0), (.selfSigned, both, 0), (.unknownRoot, both, 60), (.good, base, 0),
      (.selfSigned, base, 60), (.good, both, 0), (.selfSigned, both, 0), (.good, base, 0),
    ] {
      let driver = Driver()
      defer { driver.close() }
      #expect(await driver.get(nginx.url(face, "/hello.txt"), roots: roots, asks: false, []).result == result)
    }
  }

  /// Joining does not read or copy certificates; lookups search both tables.
  @Test func joiningDoesNotReadOrCopyCertificates() throws {
    let system = try TLSRoots(file: TLSRoots.systemFile)
    let odd = try TLSRoots(pem: try #require(kit.leaves[.selfSigned]))
    func quickest(_ read: () throws -> TLSRoots) throws -> Duration {
      try #require(try (0..<20).map { _ in try ContinuousClock().measure { _ = try read() } }.min())
    }
    let joined = try quickest { TLSRoots(odd, and: system) }
    let whole = try quickest { try TLSRoots(file: TLSRoots.systemFile) }
    #expect(joined * 20 < whole, "\(joined) beside \(whole)")
  }

  @Test func duplicateCertificatesCountOnce() throws {
    let (client, authority) = (try #require(kit.leaves[.client]), kit.authority)
    #expect(TLSRoots().largestSubjectCount == 0)
    #expect(try TLSRoots(pem: client + authority + client).largestSubjectCount == 1)
  }
}
