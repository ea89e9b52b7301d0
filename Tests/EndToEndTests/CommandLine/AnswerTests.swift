import Foundation
import JSON
import TestSupport
import Testing

/// `ferry answer` on a terminal, for the challenges of TLS servers.
@Suite(.serialized, .blocking, .endsInTime) struct AnswerTests {
  private let fixture: HandshakeFixture
  private let client: ClientFixture

  init() throws {
    fixture = try HandshakeFixture(isAlone: true)
    client = ClientFixture(server: fixture.ferry)
  }

  /// Starts a task, and returns its id with its protection space when a decision of this method is pending.
  private func start(_ site: NginxServer.Site) throws -> (session: String, task: String, space: JSONValue) {
    let session = try fixture.ferry.session(delegate: HandshakeFixture.asking)
    let task = try fixture.start(.data, site, in: session).id
    return (session, task, try space(HandshakeFixture.serverTrust, in: session))
  }

  private func space(_ method: String, in session: String) throws -> JSONValue {
    func space(_ page: JSONValue) -> JSONValue? {
      page["items"]?.elements?.first?["data"]?["protectionSpace"]
    }
    let page = try fixture.ferry.poll("/v1/sessions/\(session)/decisions?state=pending") {
      space($0)?["authenticationMethod"]?.string == method
    }
    return try #require(space(page))
  }

  @Test(
    arguments: [
      (.selfSigned, ["y"], nil, "the certificate is not trusted: self-signed certificate"),
      (.unknownRoot, ["maybe", "no"], -1203, "unable to get local issuer certificate"),
      (.expired, ["cancel"], -999, "certificate has expired"),
      (.intermediate, ["yes"], nil, "the certificate is trusted"),
      (.intermediate, ["no"], -999, "the certificate is trusted"),
    ] as [(NginxServer.Site, [String], Int64?, String)])
  func `server trust is shown and answered`(
    site: NginxServer.Site, answers: [String], error: Int64?, verdict: String
  ) throws {
    let (_, task, space) = try start(site)
    let terminal = try TerminalSession(["answer"], columns: 200, client)
    for (index, answer) in answers.enumerated() {
      #expect(terminal.expect("[yes/no/cancel]", index + 1))
      terminal.type(answer)
    }
    #expect(terminal.end() == 0, "\(terminal.text)")
    let shown = terminal.plain
    #expect(shown.contains("127.0.0.1:\(fixture.nginx.port(site)): ") && shown.contains(verdict))
    let chain = space["serverTrust"]?["certificates"]?.elements ?? []
    #expect(chain.count == (site == .intermediate ? 2 : 1))
    for (index, certificate) in chain.enumerated() {
      #expect(shown.contains("certificate \(index + 1) of 2") == (chain.count == 2))
      for (label, member) in [("subject  ", "subject"), ("issuer   ", "issuer"), ("SHA-256  ", "sha256")] {
        let text = try #require(certificate[member]?.string)
        #expect(shown.contains("  \(label)\(text)"), "\(shown)")
      }
    }
    #expect(shown.contains("valid    20") && !shown.contains("BEGIN CERTIFICATE"))
    let end = try fixture.ferry.end(of: task)
    #expect(end.errorCode == error && (end.status == 200) == (error == nil))
  }

  @Test func `empty answer leaves server trust open`() throws {
    let (session, task, _) = try start(.selfSigned)
    let terminal = try TerminalSession(["answer"], client)
    #expect(terminal.expect("[yes/no/cancel]"))
    terminal.type("")
    #expect(terminal.end() == 0 && !terminal.text.contains("answered"))
    _ = try space(HandshakeFixture.serverTrust, in: session)
    _ = try fixture.ferry.act("cancel", task)
  }

  @Test(arguments: [("client.pem", 200), ("!", 400)] as [(String, Int64)])
  func `client certificate comes from a file`(answer: String, status: Int64) throws {
    let kit = try CertificateKit.shared()
    for (name, text) in [
      ("client.pem", (kit.leaves[.client] ?? "") + kit.key), ("half.pem", kit.leaves[.client] ?? ""),
    ] { try text.write(toFile: client.directory + "/" + name, atomically: true, encoding: .utf8) }
    let (session, task, _) = try start(.asksForCertificate)
    let trust = try TerminalSession(["answer"], client)
    #expect(trust.expect("[yes/no/cancel]"))
    trust.type("yes")
    #expect(trust.end() == 0)
    _ = try space(HandshakeFixture.clientCertificate, in: session)
    for (wrong, message) in [("missing.pem", "cannot be read"), ("half.pem", "has no private key")] {
      let terminal = try TerminalSession(["answer"], client)
      #expect(terminal.expect("PEM file with the certificate and the key"))
      terminal.type(wrong)
      #expect(terminal.end() == 3 && terminal.text.contains("\(wrong) \(message)"), "\(terminal.text)")
    }
    let terminal = try TerminalSession(["answer"], columns: 200, client)
    #expect(terminal.expect("PEM file with the certificate and the key"))
    terminal.type(answer)
    #expect(terminal.end() == 0, "\(terminal.text)")
    #expect(terminal.text.contains("asks who you are (ClientCertificate)"))
    #expect(terminal.text.contains("accepted authority: CN=Authority"))
    #expect(!terminal.text.contains("PRIVATE KEY"))
    #expect(try fixture.ferry.end(of: task).status == status)
  }
}
