import JSON
import TestSupport
import Testing

/// What a certificate can have wrong, told apart as NSURLErrorDomain does. The peer on Linux says -1 to all of it
/// (swift-foundation#1319), and its constants are off by one.
@Suite(.serialized, .blocking, .sharing) struct TLSErrorTests {
  private let nginx: NginxServer
  private let ferry: FerryProcess

  init() throws {
    nginx = try NginxServer()
    ferry = try .ofSuite(trustsAuthority: true)
  }

  struct Fault: Sendable, CustomTestStringConvertible {
    let face: NginxServer.Face
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
  ]) func aBadCertificateEndsTheTaskBeforeAnythingIsSent(_ fault: Fault) throws {
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

  @Test func nameOfTheHostIsCheckedToo() throws {
    let good = try ferry.run(nginx.url(.good, "/hello.txt", host: "localhost"))
    #expect(good["error"] == .null && good["response"]?["status"]?.integer == 200)
    #expect(try ferry.run(nginx.url(.wrongHost, "/", host: "localhost")).errorCode == -1202)
  }

  @Test func noVersionInCommonIsAFailedHandshake() throws {
    let old = try ferry.session(#"{"tlsMaximumSupportedProtocolVersion":"TLSv1.2"}"#)
    let error = try ferry.run(nginx.url(.onlyTLS13, "/hello.txt"), session: old)["error"]
    #expect(error?["code"]?.integer == -1200 && error?["name"]?.string == "secureConnectionFailed")
    #expect(error?["underlying"]?["code"]?.integer == 35)  // CURLE_SSL_CONNECT_ERROR
    #expect(try ferry.run(nginx.url(.onlyTLS13, "/hello.txt"))["error"] == .null)
  }

  @Test func aPortWithoutTLSIsAFailedHandshake() throws {
    let url = nginx.url(.plain, "/hello.txt").replacing("http:", with: "https:")
    #expect(try ferry.run(url).errorCode == -1200)
    let garbage = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      return false
    }
    // It reads a line that never ends: what it is sent is no HTTP either.
    let silent = try ferry.run(
      garbage.url.replacing("http:", with: "https:"), request: #","timeoutInterval":0.5"#)
    #expect(silent.errorCode == -1001)
    withExtendedLifetime(garbage) {}
  }

  /// The connections of a session that was refused are not another's to use.
  @Test func aRefusalIsRefusedAgain() throws {
    let session = try ferry.session()
    for _ in 0..<3 {
      #expect(try ferry.run(nginx.url(.selfSigned, "/hello.txt"), session: session).errorCode == -1203)
      #expect(try ferry.run(nginx.url(.good, "/hello.txt"), session: session)["error"] == .null)
    }
  }

  @Test func withoutTheAuthorityNothingIsTrusted() throws {
    let stranger = try FerryProcess()
    #expect(try stranger.run(nginx.url(.good, "/hello.txt")).errorCode == -1203)
  }

  /// Nobody offers a certificate yet: the server's refusal is a status, and so no error.
  @Test func aServerThatWantsACertificateAnswersWithAStatus() throws {
    let task = try ferry.run(nginx.url(.asksForCertificate, "/hello.txt"))
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 400)
  }

  /// An https origin does not hand its client over to http.
  @Test func redirectFromHTTPSToHTTPIsRefused() throws {
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

  /// Background sessions, too: nobody asks their delegate.
  @Test(arguments: ["", #""type":"background","identifier":"a","delegate":{},"#])
  func redirectFromHTTPSToHTTPIsFollowedWhereTheSessionAllowsIt(_ type: String) throws {
    let body = #"{\#(type)"configuration":{"allowsInsecureRedirects":true}}"#
    let session = try ferry.call("POST", "/v1/sessions", body).json.id
    let task = try ferry.end(of: ferry.create(nginx.url(.good, "/downgrade"), session: session))
    #expect(task["error"] == .null, "\(task.text)")
    #expect(task["response"]?["url"]?.string == nginx.url(.plain, "/hello.txt"))
  }

  /// Who is asked decides; who does not answer gets what the session has.
  @Test(arguments: [false, true]) func redirectFromHTTPSToHTTPIsAskedAbout(_ answers: Bool) throws {
    let delegate = #"{"redirects":"ask","decisionTimeout":\#(answers ? 60 : 0.1)}"#
    let session = try ferry.call("POST", "/v1/sessions", #"{"delegate":\#(delegate)}"#).json.id
    let id = try ferry.create(nginx.url(.good, "/downgrade"), session: session)
    if answers {
      let event = try ferry.question(of: id)
      let proposed = event.data["request"]?["url"]?.string ?? ""
      #expect(try ferry.answer(event.decision, #"{"request":{"url":"\#(proposed)"}}"#).status == 200)
    }
    #expect(try ferry.end(of: id).errorCode == (answers ? nil : -1022))
  }
}
