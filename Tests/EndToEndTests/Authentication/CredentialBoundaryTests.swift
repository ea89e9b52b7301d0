import Foundation
import JSON
import TestSupport
import Testing

/// Credentials stay with their proxy and origin, and a deleted credential is not sent again.
@Suite(.serialized, .blocking) struct CredentialBoundaryTests {
  private let ferry: FerryProcess
  private let gate = Gate()

  init() throws { ferry = try FerryProcess() }

  /// An origin that requires Basic authentication and accepts every password.
  /// - Parameter welcome: The target of the redirect at `/leads`.
  private func origin(schemes: [String] = ["Basic realm=\"r\""], welcome: String? = nil) -> TestOrigin {
    let gate = gate
    return TestOrigin { request, socket in
      if request["Authorization"]?.hasPrefix("B") == true {
        if request.path == "/gated" { gate.wait() }
        let fields = request.path == "/leads" ? [("Location", welcome ?? "")] : []
        try socket.write(TestOrigin.reply(fields.isEmpty ? "200 OK" : "302 Found", Array("in".utf8), fields))
      } else {
        try socket.write(TestOrigin.reply("401 No", [], schemes.map { ("WWW-Authenticate", $0) }))
      }
      return true
    }
  }

  private func store(_ session: String, _ origin: TestOrigin) throws {
    let space = #"{"host":"127.0.0.1","port":\#(origin.port),"protocol":"http"}"#
    let credential = #"{"user":"alice","password":"x","persistence":"permanent"}"#
    let body = #"{"protectionSpace":\#(space),"credential":\#(credential)}"#
    #expect(try ferry.call("PUT", "/v1/sessions/\(session)/credentials", body).status == 200)
  }

  private func stored(_ session: String) throws -> Int? {
    try ferry.call("GET", "/v1/sessions/\(session)/credentials").json["items"]?.elements?.count
  }

  @Test func `proxy password is not sent to another proxy`() throws {
    let second = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("403 No"))
      return false
    }
    let first = TestOrigin { request, socket in
      guard request["Proxy-Authorization"] != nil else {
        try socket.write(TestOrigin.reply("407 Who", [], [("Proxy-Authenticate", "Basic realm=\"p\"")]))
        return true
      }
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", "https://127.0.0.1:9/")]))
      return true
    }
    let proxies =
      #"{"http":"http://alice:secret@127.0.0.1:\#(first.port)","https":"http://127.0.0.1:\#(second.port)"}"#
    let session = try ferry.session(#"{"proxies":\#(proxies)}"#)
    let task = try ferry.run("http://127.0.0.1:9/", kind: "data", session: session)
    #expect(task.errorCode == -1004, "\(task.text)")
    #expect(second.requests.map(\.method) == ["CONNECT"])
    #expect(second.requests.allSatisfy { $0["Proxy-Authorization"] == nil && $0["Authorization"] == nil })
  }

  /// Without a Kerberos realm the password yields no Negotiate token, but it still serves the next scheme.
  @Test func `password without a Negotiate token is tried with the next scheme`() throws {
    let origin = origin(schemes: ["Negotiate", "Basic realm=\"r\""])
    let session = try ferry.session()
    try store(session, origin)
    let task = try ferry.run(origin.url + "/", kind: "data", session: session)
    #expect(task["response"]?["status"]?.integer == 200)
    #expect(origin.requests.last?["Authorization"] == "Basic " + Data("alice:x".utf8).base64EncodedString())
  }

  @Test func `redacted header field is not restored for another origin`() throws {
    let target = origin()
    let first = origin(welcome: target.url + "/elsewhere")
    let session = try ferry.session(delegate: #"{"redirects":"ask"}"#)
    let header = #","headers":{"Authorization":"Bearer secret"}"#
    let task = try ferry.create(first.url + "/leads", session: session, request: header)
    let question = try ferry.decisionEvent(of: task)
    // The proposed request for the other origin lacks the field. A delegate that adds the redaction mark does not
    // restore it.
    #expect(question.data["request"]?["headers"]?["Authorization"] == nil)
    let answer = #"{"request":{"url":"\#(target.url)/x","headers":{"Authorization":"(redacted)"}}}"#
    #expect(try ferry.answer(question.decision, answer).status == 200)
    #expect(try ferry.end(of: task)["response"]?["status"]?.integer == 401)
    #expect(target.requests.allSatisfy { $0["Authorization"] == nil })
  }

  @Test func `credential deleted during its request is not stored again`() throws {
    let origin = origin()
    let session = try ferry.session()
    try store(session, origin)
    let task = try ferry.create(origin.url + "/gated", session: session)
    _ = try ferry.poll("/v1/tasks/\(task)") { _ in origin.requests.count == 2 }
    #expect(try ferry.call("DELETE", "/v1/sessions/\(session)/credentials").status == 204)
    gate.open()
    #expect(try ferry.end(of: task)["response"]?["status"]?.integer == 200)
    #expect(try stored(session) == 0)
    let next = try ferry.run(origin.url + "/", kind: "data", session: session)
    #expect(next["response"]?["status"]?.integer == 401)
  }

  /// A redirect to another origin drops the session's own `Authorization` field, also after a restart.
  @Test func `header field dropped by a redirect stays dropped after a restart`() throws {
    let directory = TemporaryDirectory.make("ferry-boundary")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let gate = gate
    let target = TestOrigin { _, socket in
      gate.wait()
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let first = origin(welcome: target.url + "/elsewhere")
    var ferry = try FerryProcess(directory: directory)
    let session = try ferry.session(#"{"httpAdditionalHeaders":{"Authorization":"Bearer secret"}}"#)
    let task = try ferry.create(first.url + "/leads", session: session)
    _ = try ferry.poll("/v1/tasks/\(task)") { _ in !target.requests.isEmpty }
    #expect(try ferry.act("suspend", task) == "suspended")
    ferry.kill()
    gate.openForGood()
    ferry = try FerryProcess(directory: directory)
    #expect(try ferry.act("resume", task) == "running")
    #expect(try ferry.end(of: task)["response"]?["status"]?.integer == 200)
    #expect(first.requests.allSatisfy { $0["Authorization"] == "Bearer secret" })
    #expect(target.requests.count == 2 && target.requests.allSatisfy { $0["Authorization"] == nil })
  }
}

/// A Kerberos ticket that is deleted while the session still uses it.
@Suite(.serialized, .blocking) struct LostTicketTests {
  @Test func `missing Kerberos ticket leads to a 401`() throws {
    let realm = try KerberosRealm()
    let apache = try ApacheServer(kerberos: realm)
    let environment = try realm.withTicket()
    let ferry = try FerryProcess(environment: environment)
    let session = try ferry.session(FerryProcess.uncached)
    let url = apache.url(.plain, "/kerberos/hello.txt")
    #expect(try ferry.run(url, kind: "data", session: session)["response"]?["status"]?.integer == 200)
    #expect(try ferry.run(url, kind: "data", session: session)["response"]?["status"]?.integer == 200)
    let cache = try #require(environment["KRB5CCNAME"]?.split(separator: ":").last)
    try FileManager.default.removeItem(atPath: String(cache))
    for _ in 0..<2 {
      let task = try ferry.run(url, kind: "data", session: session)
      #expect(task["state"]?.string == "completed" && task["response"]?["status"]?.integer == 401)
    }
  }
}

/// A certificate is shown once in a connection's handshake, and the connection outlives the stored certificate.
@Suite(.serialized, .blocking, .sharing) struct ReplacedCertificateTests {
  @Test(arguments: [false, true]) func `next request shows new certificate`(_ hasHTTP2: Bool) throws {
    let fixture = try HandshakeFixture(hasHTTP2: hasHTTP2)
    let session = try fixture.ferry.session()
    let path = "/v1/sessions/\(session)/credentials"
    let url = fixture.nginx.url(.asksForCertificate, "/hello.txt")
    let space =
      #"{"host":"127.0.0.1","port":\#(fixture.nginx.port(.asksForCertificate)),"authenticationMethod":"\#(HandshakeFixture.clientCertificate)"}"#
    func status() throws -> Int64? {
      try fixture.ferry.run(url, kind: "data", session: session)["response"]?["status"]?.integer
    }
    func store(_ leaf: CertificateKit.Leaf) throws {
      let credential = try HandshakeFixture.identity(leaf, persistence: "permanent")
      let body = #"{"protectionSpace":\#(space),"credential":\#(credential)}"#
      #expect(try fixture.ferry.call("PUT", path, body).status == 200)
    }
    #expect(try status() == 400)
    try store(.strangeClient)
    #expect(try status() == 400)
    try store(.client)
    #expect(try status() == 200)
    #expect(try status() == 200)
    #expect(try fixture.ferry.call("DELETE", path).status == 204)
    #expect(try status() == 400)
  }
}
