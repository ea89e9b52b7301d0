import Curl
import EventLoop
import TestSupport
import Testing

/// Held handshakes that are decided, refused or abandoned, against a real server. C code and its fibres run on the loop's thread.
@Suite(.serialized, .blocking) struct TLSHandshakeTests {
  enum Act: Sendable {
    case byDefault, trust, refuse
    case identity(certificate: String, key: String)
    /// Abandons the transfer while its handshake is held.
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

  /// Runs one transfer at a time. All members are used on the loop's thread.
  private final class Driver: EasyHandleDelegate, @unchecked Sendable {
    private let loop = EventLoop(name: "test-tls")
    private var transport: CurlTransport?
    private var roots: CertificateAuthoritySet?
    private var seen = Seen()
    private var acts: [Act] = []
    private var done: ((Seen) -> Void)?

    init() { loop.start() }

    func get(
      _ url: String, roots: CertificateAuthoritySet, pins: [[UInt8]] = [], asks: Bool = true, _ acts: [Act]
    ) async
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

    private func start(_ url: String, _ roots: CertificateAuthoritySet, _ pins: [[UInt8]], _ asks: Bool)
      throws
    {
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
      // The handshake is held over many turns of the loop.
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
      // In the next turn, because libcurl is running in this one.
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
    _ face: NginxServer.Site, path: String = "/hello.txt", host: String = "127.0.0.1", known: Bool = true,
    pins: [[UInt8]] = [], asks: Bool = true, _ acts: Act...
  ) async -> Seen {
    let driver = Driver()
    defer { driver.close() }
    guard let roots = known ? try? CertificateAuthoritySet(pem: kit.authority) : CertificateAuthoritySet()
    else { return Seen() }
    return await driver.get(
      nginx.url(face, path, host: host), roots: roots, pins: pins, asks: asks, acts)
  }

  @Test func `trusted certificate is reported and continues`() async {
    let seen = await get(.good, .byDefault)
    #expect(seen.questions == ["trust"] && seen.verifyError == 0 && seen.status == 200 && seen.result == 0)
    #expect(seen.subjects == ["CN=server"] && seen.body.utf8.count == 5000)
  }

  @Test(arguments: [
    (NginxServer.Site.expired, 10), (.notYetValid, 9), (.wrongHost, 62), (.selfSigned, 18),
    (.unknownRoot, 20),
  ])
  func `untrusted certificate can be trusted`(_ face: NginxServer.Site, _ error: Int) async {
    let trusted = await get(face, .trust)
    #expect(trusted.verifyError == error && trusted.status == 200 && trusted.result == 0)
    let judged = await get(face, .byDefault)
    #expect(judged.result == 60 && judged.status == 0 && judged.body.isEmpty)
    let unasked = await get(face, asks: false)
    #expect(unasked.result == 60 && unasked.questions.isEmpty)
  }

  @Test func `refused handshake ends the transfer`() async {
    let seen = await get(.good, .refuse)
    #expect(seen.result == 60 && seen.body.isEmpty)
  }

  @Test func `pin may match any key of the chain`() async {
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

  @Test func `requested client certificate is sent`() async throws {
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

  /// The server has only the root, so the client sends the intermediate certificate too.
  @Test func `intermediate certificates are sent too`() async throws {
    let client = try #require(kit.leaves[.intermediateClient])
    for face in [NginxServer.Site.asksForCertificate, .optionalCertificate] {
      let seen = await get(face, path: "/who", .byDefault, .identity(certificate: client, key: kit.key))
      #expect(seen.status == 200 && seen.body == "SUCCESS CN=intermediateClient")
    }
  }

  @Test func `addresses and names are verified`() async {
    #expect(await get(.good, host: "localhost", asks: false).status == 200)
    #expect(await get(.good, host: "127.0.0.1", asks: false).status == 200)
    #expect(await get(.good, host: "127.0.0.2", known: true, asks: false).result != 0)
    #expect(await get(.good, known: false, asks: false).result == 60)
  }

  /// OpenSSL never frees the memory of a paused job, so abandoned handshakes are refused and end by themselves.
  @Test func `abandoned handshake ends`() async {
    for _ in 0..<20 {
      let seen = await get(.good, .abandon)
      #expect(seen.result == 60 && seen.body.isEmpty)
    }
  }

  @Test func `invalid certificates and keys are refused`() throws {
    let client = try #require(kit.leaves[.client])
    #expect(throws: TLSIdentity.Fault.self) { try TLSIdentity(certificate: "nothing", key: kit.key) }
    #expect(throws: TLSIdentity.Fault.self) { try TLSIdentity(certificate: client, key: client) }
    #expect(throws: TLSIdentity.Fault.self) { try TLSIdentity(certificate: kit.authority, key: kit.key) }
    #expect(throws: CertificateAuthoritySet.Fault.self) { try CertificateAuthoritySet(pem: "nothing") }
    #expect(throws: CertificateAuthoritySet.Fault.self) { try CertificateAuthoritySet(file: "/nowhere") }
    _ = try TLSIdentity(certificate: client + kit.authority, key: kit.key)
    _ = try CertificateAuthoritySet(pem: kit.authority + client)
  }

  /// Certificates are stored and shown as given, so they must contain no key.
  @Test func `text other than certificates is refused`() throws {
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
      #expect(throws: CertificateAuthoritySet.Fault.self) { try CertificateAuthoritySet(pem: text) }
    }
    #expect(throws: TLSIdentity.Fault.self) { try TLSIdentity(certificate: client, key: key + "\0") }
    let fault = #expect(throws: CertificateAuthoritySet.Fault.self) {
      try CertificateAuthoritySet(pem: client + key)
    }
    #expect(fault?.message == "contains more than certificates")
    for text in [
      "subject=CN = client\n" + client + "\n# between\n" + authority, client.replacing("\n", with: "\r\n"),
      block("X509 CERTIFICATE", body), block("TRUSTED CERTIFICATE", body),
    ] {
      _ = try TLSIdentity(certificate: text, key: key)
      _ = try CertificateAuthoritySet(pem: text)
    }
  }

  /// A session's certificate authorities are added to the service's.
  @Test func `joined roots trust peers of both sets`() async throws {
    let odd = try #require(kit.leaves[.selfSigned])
    let base = try CertificateAuthoritySet(pem: kit.authority)
    let both = CertificateAuthoritySet(try CertificateAuthoritySet(pem: odd + kit.authority), and: base)
    // Successful lookups run twice: the second one is served from OpenSSL's own store.
    for (face, roots, result) in [
      (NginxServer.Site.good, both, 0), (.selfSigned, both, 0), (.unknownRoot, both, 60), (.good, base, 0),
      (.selfSigned, base, 60), (.good, both, 0), (.selfSigned, both, 0), (.good, base, 0),
    ] {
      let driver = Driver()
      defer { driver.close() }
      #expect(await driver.get(nginx.url(face, "/hello.txt"), roots: roots, asks: false, []).result == result)
    }
  }

  /// Joining does not read or copy certificates; lookups search both tables.
  @Test func `joining does not read or copy certificates`() throws {
    let system = try CertificateAuthoritySet(file: CertificateAuthoritySet.systemFile)
    let odd = try CertificateAuthoritySet(pem: try #require(kit.leaves[.selfSigned]))
    func quickest(_ read: () throws -> CertificateAuthoritySet) throws -> Duration {
      try #require(try (0..<20).map { _ in try ContinuousClock().measure { _ = try read() } }.min())
    }
    let joined = try quickest { CertificateAuthoritySet(odd, and: system) }
    let whole = try quickest { try CertificateAuthoritySet(file: CertificateAuthoritySet.systemFile) }
    #expect(joined * 20 < whole, "joining takes \(joined), reading the whole file \(whole)")
  }

  @Test func `duplicate certificates count once`() throws {
    let (client, authority) = (try #require(kit.leaves[.client]), kit.authority)
    #expect(CertificateAuthoritySet().largestSubjectCount == 0)
    #expect(try CertificateAuthoritySet(pem: client + authority + client).largestSubjectCount == 1)
  }
}
