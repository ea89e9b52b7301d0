import JSON
import TestSupport
import Testing

/// Certificate faults map to separate codes of `NSURLErrorDomain`. Foundation on Linux reports -1 for all of them
/// (swift-foundation#1319), and its constants are off by one.
@Suite(.serialized, .blocking, .sharing) struct TLSErrorTests {
  private let nginx: NginxServer
  private let ferry: FerryProcess

  init() throws {
    nginx = try NginxServer()
    ferry = try .ofSuite(trustsAuthority: true)
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    let face: NginxServer.Site
    let code: Int64
    let name: String
    var testDescription: String { "\(face)" }
  }

  @Test(arguments: [
    Fault(face: .expired, code: -1201, name: "serverCertificateHasBadDate"),
    Fault(face: .notYetValid, code: -1204, name: "serverCertificateNotYetValid"),
    Fault(face: .wrongHost, code: -1202, name: "serverCertificateUntrusted"),
    Fault(face: .selfSigned, code: -1203, name: "serverCertificateHasUnknownRoot"),
    Fault(face: .unknownRoot, code: -1203, name: "serverCertificateHasUnknownRoot"),
  ]) func `bad certificate ends the task before a request is sent`(_ fault: Fault) throws {
    for kind in ["data", "download"] {
      let url = nginx.url(fault.face, "/hello.txt")
      let id = try ferry.create(url, kind: kind)
      let types = try ferry.story(of: id).map(\.type)
      #expect(!types.contains("dataTask.didReceiveResponse") && types.last == "task.didComplete")
      let task = try ferry.task(id)
      let error = try #require(task["error"])
      #expect(error["domain"]?.string == "NSURLErrorDomain")
      #expect(error["code"]?.integer == fault.code && error["name"]?.string == fault.name)
      #expect(error["failingURL"]?.string == url)
      #expect(error["underlying"]?["library"]?.string == "libcurl")
      #expect(error["underlying"]?["code"]?.integer == 60)  // CURLE_PEER_FAILED_VERIFICATION
      #expect(task["response"] == .null && task["body"] == .null)
      let transaction = try ferry.metrics(of: id)["transactionMetrics"]?.elements?.first
      #expect(
        transaction?["response"] == .null && transaction?["countOfRequestHeaderBytesSent"]?.integer == 0)
    }
  }

  @Test func `host name of the certificate is checked`() throws {
    let good = try ferry.run(nginx.url(.good, "/hello.txt", host: "localhost"))
    #expect(good["error"] == .null && good["response"]?["status"]?.integer == 200)
    #expect(try ferry.run(nginx.url(.wrongHost, "/", host: "localhost")).errorCode == -1202)
  }

  @Test func `no common TLS version is a failed handshake`() throws {
    let old = try ferry.session(#"{"tlsMaximumSupportedProtocolVersion":"TLSv1.2"}"#)
    let error = try ferry.run(nginx.url(.onlyTLS13, "/hello.txt"), session: old)["error"]
    #expect(error?["code"]?.integer == -1200 && error?["name"]?.string == "secureConnectionFailed")
    #expect(error?["underlying"]?["code"]?.integer == 35)  // CURLE_SSL_CONNECT_ERROR
    #expect(try ferry.run(nginx.url(.onlyTLS13, "/hello.txt"))["error"] == .null)
  }

  @Test func `port without TLS is a failed handshake`() throws {
    let url = nginx.url(.plain, "/hello.txt").replacing("http:", with: "https:")
    #expect(try ferry.run(url).errorCode == -1200)
    let garbage = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      return false
    }
    // The server waits for the end of a line that never ends, because a ClientHello is not HTTP.
    let silent = try ferry.run(
      garbage.url.replacing("http:", with: "https:"), request: #","timeoutInterval":0.5"#)
    #expect(silent.errorCode == -1001)
    withExtendedLifetime(garbage) {}
  }

  /// A session does not reuse the connection of a refused handshake.
  @Test func `refused certificate is refused again`() throws {
    let session = try ferry.session()
    for _ in 0..<3 {
      #expect(try ferry.run(nginx.url(.selfSigned, "/hello.txt"), session: session).errorCode == -1203)
      #expect(try ferry.run(nginx.url(.good, "/hello.txt"), session: session)["error"] == .null)
    }
  }

  @Test func `server is not trusted without its certificate authority`() throws {
    let stranger = try FerryProcess()
    #expect(try stranger.run(nginx.url(.good, "/hello.txt")).errorCode == -1203)
  }

  /// The session shows no certificate, so the server refuses with a status, which is no error.
  @Test func `refusal without a client certificate is a status`() throws {
    let task = try ferry.run(nginx.url(.asksForCertificate, "/hello.txt"))
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 400)
  }

  @Test func `redirect from HTTPS to HTTP is refused`() throws {
    let task = try ferry.run(nginx.url(.good, "/downgrade"))
    #expect(task.errorCode == -1022)
    #expect(task["error"]?["name"]?.string == "appTransportSecurityRequiresSecureConnection")
    #expect(task["error"]?["failingURL"]?.string == nginx.url(.plain, "/hello.txt"))
    #expect(task["response"]?["status"]?.integer == 302 && task["body"] == .null)
    #expect(task["error"]?["message"]?.string?.contains("allowsInsecureRedirects") == true)
    let upgraded = try ferry.run(nginx.url(.plain, "/upgrade"))
    #expect(upgraded["error"] == .null)
    #expect(upgraded["response"]?["url"]?.string == nginx.url(.good, "/hello.txt"))
  }

  /// The setting applies to background sessions too, which do not ask their delegate.
  @Test(arguments: ["", #""type":"background","identifier":"a","delegate":{},"#])
  func `redirect from HTTPS to HTTP is followed if the session allows it`(_ type: String) throws {
    let body = #"{\#(type)"configuration":{"allowsInsecureRedirects":true}}"#
    let session = try ferry.call("POST", "/v1/sessions", body).json.id
    let task = try ferry.end(of: ferry.create(nginx.url(.good, "/downgrade"), session: session))
    #expect(task["error"] == .null, "\(task.text)")
    #expect(task["response"]?["url"]?.string == nginx.url(.plain, "/hello.txt"))
  }

  /// The delegate's answer decides. After its timeout, the session's setting applies.
  @Test(arguments: [false, true]) func `redirect from HTTPS to HTTP asks a delegate`(_ answers: Bool) throws {
    let delegate = #"{"redirects":"ask","decisionTimeout":\#(answers ? 60 : 0.1)}"#
    let session = try ferry.call("POST", "/v1/sessions", #"{"delegate":\#(delegate)}"#).json.id
    let id = try ferry.create(nginx.url(.good, "/downgrade"), session: session)
    if answers {
      let event = try ferry.decisionEvent(of: id)
      let proposed = event.data["request"]?["url"]?.string ?? ""
      #expect(try ferry.answer(event.decision, #"{"request":{"url":"\#(proposed)"}}"#).status == 200)
    }
    #expect(try ferry.end(of: id).errorCode == (answers ? nil : -1022))
  }
}
