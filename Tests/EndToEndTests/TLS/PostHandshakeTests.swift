import JSON
import TestSupport
import Testing

/// Handshakes on an open connection, in which Ferry cannot ask the delegate.
@Suite(.serialized, .blocking, .sharing) struct PostHandshakeTests {
  private typealias Fixture = HandshakeFixture
  enum Later: String, CaseIterable, Sendable {
    /// TLS 1.2: the peers renegotiate.
    case renegotiation = "-tls1_2 -no_ticket -no_cache"
    /// TLS 1.3: the server requests a certificate after it has received the request.
    case authentication = "-tls1_3"
    var command: String { self == .renegotiation ? "R\n" : "c\n" }
  }
  private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\n"

  private let ferry: FerryProcess

  init() throws { ferry = try Fixture(trustsAuthority: true).ferry }

  private func server(
    _ later: Later, _ options: String = "", certificate leaf: CertificateKit.Leaf = .good
  ) throws -> OpenSSLServer {
    try OpenSSLServer(
      later.rawValue + " -state -CAfile authority.pem " + options, certificate: leaf, isByHand: true)
  }

  /// Performs a second handshake while the server has the request, and then sends the response.
  /// - Parameter name: the common name of the client certificate that the server must receive. `nil` skips this check.
  private func finish(_ server: OpenSSLServer, _ later: Later, _ task: String, expecting name: String?) throws
  {
    #expect(server.waitForOutput("GET / "))
    try server.write(later.command)
    if let name { #expect(server.waitForOutput("depth=0 CN = \(name)\n")) }
    #expect(server.waitForOutput("SSL_accept:SSLv3/TLS read finished"))
    try server.write(Self.answer)
    let end = try ferry.end(of: task)
    #expect(
      end["error"] == .null && end["response"]?["status"]?.integer == 200, "\(end["error"]?.text ?? "")")
    #expect(try ferry.call("GET", "/v1/tasks/\(task)/body").text == "ok")
  }

  private func challenges(of task: String) throws -> Int {
    try ferry.story(of: task).filter { $0.type == Fixture.event }.count
  }

  /// Only the first handshake asks the delegate.
  @Test(arguments: Later.allCases, [CertificateKit.Leaf.good, .selfSigned])
  func `later handshake does not ask the delegate again`(_ later: Later, _ leaf: CertificateKit.Leaf) throws {
    let server = try server(later, certificate: leaf)
    let session = try ferry.session(delegate: Fixture.asking)
    let id = try ferry.create(server.url(), session: session)
    try ferry.answer(ferry.decisionEvent(of: id, Fixture.event).decision, Fixture.trust)
    try finish(server, later, id, expecting: nil)
    #expect(!server.outputContains("depth=0 CN"))
    #expect(try challenges(of: id) == 1)
  }

  /// A certificate that the session has stored, or one that was chosen for the connection, is shown without a
  /// challenge.
  @Test(arguments: Later.allCases, [true, false])
  func `later handshake shows the client certificate`(_ later: Later, _ isStored: Bool) throws {
    // `-verify` requests a certificate in the first handshake too.
    let server = try server(later, isStored ? "" : "-verify 3")
    let session = try ferry.session(delegate: Fixture.asking)
    if isStored {
      let port = server.url().split(separator: ":").last?.dropLast() ?? ""
      let space =
        #"{"host":"127.0.0.1","port":\#(port),"authenticationMethod":"\#(Fixture.clientCertificate)"}"#
      let body =
        #"{"protectionSpace":\#(space),"credential":\#(try Fixture.identity(.intermediateClient, persistence: "forSession"))}"#
      #expect(try ferry.call("PUT", "/v1/sessions/\(session)/credentials", body).status == 200)
    }
    let id = try ferry.create(server.url(), session: session)
    let trust = try ferry.decisionEvent(of: id, Fixture.event)
    try ferry.answer(trust.decision, Fixture.trust)
    if !isStored {
      let challenge = try ferry.decisionEvent(of: id, Fixture.event, after: trust.id ?? 0)
      try ferry.answer(challenge.decision, Fixture.certificate(.intermediateClient))
    }
    // openssl does not request a certificate again when it renegotiates.
    let isAsked = isStored || later == .authentication
    try finish(server, later, id, expecting: isAsked ? "intermediateClient" : nil)
    #expect(try challenges(of: id) == (isStored ? 1 : 2))
  }

  @Test(arguments: Later.allCases) func `session without a delegate completes it`(_ later: Later) throws {
    let server = try server(later)
    try finish(server, later, ferry.create(server.url(), session: ferry.session()), expecting: nil)
  }
}
