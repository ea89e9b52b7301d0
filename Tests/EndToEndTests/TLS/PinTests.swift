import JSON
import TestSupport
import Testing

/// Keys that a session pins to hosts, and certificate authorities that it trusts in addition to the service's own.
@Suite(.serialized, .blocking, .sharing) struct PinTests {
  private let fixture: HandshakeFixture
  private var ferry: FerryProcess { fixture.ferry }
  private static let wrong = "sha256/" + [String](repeating: "A", count: 43).joined() + "="

  init() throws { fixture = try HandshakeFixture() }

  private func configuration(_ pins: [String], host: String = "127.0.0.1") -> String {
    #"{"tlsPinnedPublicKeys":{"\#(host)":[\#(pins.map { "\"\($0)\"" }.joined(separator: ","))]}}"#
  }

  private func code(_ configuration: String, _ face: NginxServer.Site, host: String = "127.0.0.1") throws
    -> Int64?
  {
    let url = fixture.nginx.url(face, "/hello.txt", host: host)
    return try ferry.run(url, session: ferry.session(configuration)).errorCode
  }

  @Test func `one pinned key of the chain is enough`() throws {
    let kit = try CertificateKit.shared()
    let leaf = "sha256/" + (try OpenSSL.keyPin(of: kit.leaves[.good] ?? ""))
    let authority = "sha256/" + (try #require(try kit.authorityKeyPins().first))
    let middle = "sha256/" + (try OpenSSL.keyPin(of: kit.intermediateAuthority))
    #expect(try code(configuration([leaf]), .good) == nil)
    #expect(try code(configuration([authority]), .good) == nil)
    #expect(try code(configuration([Self.wrong, leaf]), .good) == nil)
    #expect(try code(configuration([middle]), .intermediate) == nil)
    #expect(try code(configuration([authority]), .intermediate) == nil)
    #expect(try code(configuration([middle]), .good) == -1202)
    #expect(try code(configuration([Self.wrong]), .good) == -1202)
    // A pin does not excuse another fault, and does not apply to another host.
    #expect(try code(configuration([leaf]), .expired) == -1201)
    #expect(try code(configuration([leaf]), .selfSigned) == -1203)
    #expect(try code(configuration([Self.wrong], host: "localhost"), .good) == nil)
    #expect(try code(configuration([Self.wrong], host: "LOCALHOST"), .good, host: "localhost") == -1202)
  }

  /// A pin applies to every spelling of its host, and after a redirect.
  @Test func `pin applies to every spelling of the host`() throws {
    let kit = try CertificateKit.shared()
    let leaf = "sha256/" + (try OpenSSL.keyPin(of: kit.leaves[.good] ?? ""))
    let hosts = ["localhost", "LocalHost", "ｌｏｃａｌｈｏｓｔ", "loc%61lhost"]
    for host in hosts {
      #expect(try code(configuration([Self.wrong], host: "localhost"), .good, host: host) == -1202, "\(host)")
      #expect(try code(configuration([leaf], host: "localhost"), .good, host: host) == nil, "\(host)")
    }
    // In one session, no spelling of a refused host may resume a connection.
    let session = try ferry.session(configuration([Self.wrong], host: "localhost"))
    for host in hosts {
      let url = fixture.nginx.url(.good, "/moved", host: host)
      #expect(try ferry.run(url, session: session).errorCode == -1202, "\(host)")
    }
    // nginx redirects this path to 127.0.0.1.
    let url = fixture.nginx.url(.plain, "/upgrade", host: "localhost")
    #expect(try ferry.run(url, session: session).errorCode == nil)
    let other = try ferry.session(configuration([Self.wrong]))
    #expect(try ferry.run(url, session: other).errorCode == -1202)
    #expect(
      try ferry.run(fixture.nginx.url(.good, "/upgrade", host: "localhost"), session: other).errorCode
        == -1202)
  }

  /// The trust evaluation reports the wrong pin. The delegate may still trust the server.
  @Test func `wrong pin is in the trust evaluation`() throws {
    let session = try ferry.session(configuration([Self.wrong]), delegate: HandshakeFixture.asking)
    for (answer, code) in [(HandshakeFixture.byDefault, -1202), (HandshakeFixture.trust, nil)]
      as [(String, Int64?)]
    {
      let task = try fixture.start(.data, .good, in: session)
      let challenge = try fixture.challenge(task)
      let evaluation = challenge.data["protectionSpace"]?["serverTrust"]?["evaluation"]
      #expect(evaluation?["isTrusted"]?.bool == false)
      #expect(evaluation?["code"]?.string == "serverCertificateUntrusted")
      #expect(evaluation?["message"]?.string == "certificate rejected")
      try fixture.answer(challenge, answer)
      #expect(try ferry.end(of: task.id).errorCode == code)
    }
    #expect(fixture.nginx.log(atLeast: 1).count == 1)
  }

  @Test(arguments: [
    (#"{"h":[]}"#, "/h"), (#"{"h":"x"}"#, "/h"), (#"{"h":["x"]}"#, "/h/0"), ("[]", ""),
    (#"{"h":["sha256/AAAA"]}"#, "/h/0"), (#"{"a.b":["sha256/*"]}"#, "/a.b/0"),
    (#"{"a.b.":["\#(wrong)"]}"#, "/a.b."), (#"{"[::1]":["\#(wrong)"]}"#, "/[::1]"),
  ]) func `malformed pin is reported by its field`(_ pins: String, _ pointer: String) throws {
    let body = #"{"configuration":{"tlsPinnedPublicKeys":\#(pins)}}"#
    let reply = try ferry.call("POST", "/v1/sessions", body)
    let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
    #expect(reply.status == 400 && pointers == ["/configuration/tlsPinnedPublicKeys" + pointer])
  }

  // MARK: Certificate authorities

  @Test func `certificate authorities of a session apply to it alone`() throws {
    let stranger = try FerryProcess()
    let kit = try CertificateKit.shared()
    func roots(_ pem: String) -> String {
      #"{"tlsAdditionalRootCertificates":"\#(HandshakeFixture.escaped(pem))"}"#
    }
    func code(_ session: String, _ face: NginxServer.Site) throws -> Int64? {
      try stranger.run(fixture.nginx.url(face, "/hello.txt"), session: session).errorCode
    }
    let (trusting, plain) = (try stranger.session(roots(kit.authority)), try stranger.session())
    let odd = try stranger.session(roots(kit.leaves[.selfSigned] ?? ""))
    let both = try stranger.session(roots((kit.leaves[.selfSigned] ?? "") + kit.authority))
    for _ in 0..<2 {
      #expect(try code(trusting, .good) == nil && code(trusting, .intermediate) == nil)
      #expect(try code(trusting, .selfSigned) == -1203 && code(trusting, .expired) == -1201)
      #expect(try code(plain, .good) == -1203)
      #expect(try code(odd, .selfSigned) == nil && code(odd, .good) == -1203)
      #expect(try code(both, .selfSigned) == nil && code(both, .good) == nil)
    }
    #expect(try code("ses_shared", .good) == -1203)
  }

  /// A new session's certificates are parsed once, in the thread pool, for all waiting tasks.
  @Test func `tasks wait until certificate authorities are parsed`() throws {
    let stranger = try FerryProcess()
    let kit = try CertificateKit.shared()
    let session = try stranger.session(
      #"{"tlsAdditionalRootCertificates":"\#(HandshakeFixture.escaped(kit.authority))"}"#)
    let url = fixture.nginx.url(.good, "/hello.txt")
    let tasks = try (0..<20).map { _ in try stranger.create(url, session: session) }
    for task in tasks { #expect(try stranger.end(of: task).status == 200) }
  }

  @Test(arguments: [
    "", "no certificate", "-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n",
  ])
  func `malformed certificate authorities are refused`(_ pem: String) throws { try expectRefusal(pem) }

  @Test func `certificate authorities with a key are refused`() throws {
    let kit = try CertificateKit.shared()
    try expectRefusal(HandshakeFixture.escaped(kit.authority + kit.key))
  }

  private func expectRefusal(_ pem: String) throws {
    let body = #"{"configuration":{"tlsAdditionalRootCertificates":"\#(pem)"}}"#
    let reply = try ferry.call("POST", "/v1/sessions", body)
    let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
    #expect(reply.status == 400 && pointers == ["/configuration/tlsAdditionalRootCertificates"])
    #expect(!reply.text.contains("PRIVATE KEY"))
  }
}
