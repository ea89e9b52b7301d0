import JSON
import TestSupport
import Testing

/// Results of a handshake: version, server name, protocol and resumption.
@Suite(.serialized, .blocking, .sharing) struct TLSConnectionTests {
  private let fixture: HandshakeFixture
  private var ferry: FerryProcess { fixture.ferry }
  private var url: String { fixture.nginx.url(.good, "/tls") }

  init() throws { fixture = try HandshakeFixture(hasHTTP2: false) }

  private func versions(_ minimum: Int, _ maximum: Int) -> String {
    #"{"tlsMinimumSupportedProtocolVersion":"TLSv1.\#(minimum)","#
      + #""tlsMaximumSupportedProtocolVersion":"TLSv1.\#(maximum)"}"#
  }

  // MARK: Versions

  struct Match: Sendable, CustomTestStringConvertible {
    let server: Int
    let minimum: Int
    let maximum: Int
    let isPossible: Bool
    var testDescription: String { "client \(minimum) to \(maximum), server 1.\(server)" }
  }

  @Test(arguments: [
    Match(server: 2, minimum: 2, maximum: 3, isPossible: true),
    Match(server: 3, minimum: 2, maximum: 3, isPossible: true),
    Match(server: 2, minimum: 2, maximum: 2, isPossible: true),
    Match(server: 3, minimum: 3, maximum: 3, isPossible: true),
    Match(server: 3, minimum: 2, maximum: 2, isPossible: false),
    Match(server: 2, minimum: 3, maximum: 3, isPossible: false),
    // Old versions are used only if the session allows them.
    Match(server: 1, minimum: 1, maximum: 3, isPossible: true),
    Match(server: 0, minimum: 0, maximum: 3, isPossible: true),
    Match(server: 1, minimum: 2, maximum: 3, isPossible: false),
    Match(server: 0, minimum: 1, maximum: 3, isPossible: false),
    Match(server: 3, minimum: 0, maximum: 3, isPossible: true),
  ]) func `versions of session and server must overlap`(_ match: Match) throws {
    let version = match.server == 0 ? "-tls1" : "-tls1_\(match.server)"
    let server = try OpenSSLServer(match.server < 2 ? version + " -cipher DEFAULT:@SECLEVEL=0" : version)
    let session = try ferry.session(versions(match.minimum, match.maximum))
    let id = try ferry.create(server.url(), session: session)
    let end = try ferry.end(of: id)
    #expect(end.errorCode == (match.isPossible ? nil : -1200))
    guard match.isPossible else {
      #expect(end["error"]?["name"]?.string == "secureConnectionFailed")
      return
    }
    let page = try ferry.call("GET", "/v1/tasks/\(id)/body").text
    #expect(page.contains("Protocol  : TLSv1" + (match.server == 0 ? "\n" : ".\(match.server)")))
    let transaction = try ferry.metrics(of: id)["transactionMetrics"]?.elements?.first
    #expect(transaction?["negotiatedTLSProtocolVersion"]?.string == "TLSv1.\(match.server)")
    // For suites of TLS 1.2, OpenSSL prints its own names.
    let suite = try #require(transaction?["negotiatedTLSCipherSuite"]?.string)
    #expect(
      match.server == 3 ? page.contains("Cipher    : \(suite)") : suite.hasPrefix("TLS_ECDHE_"))
  }

  @Test func `newest common version is chosen`() throws {
    for (minimum, maximum, version) in [(2, 3, "TLSv1.3"), (2, 2, "TLSv1.2"), (3, 3, "TLSv1.3")] {
      let session = try ferry.session(versions(minimum, maximum))
      let text = try fixture.text(url, in: session)
      #expect(text?.hasPrefix(version) == true, "\(text ?? "")")
    }
  }

  // MARK: Names and protocols

  @Test(arguments: [true, false]) func `server name and protocol are sent`(_ hasHTTP2: Bool) throws {
    let fixture = try HandshakeFixture(hasHTTP2: hasHTTP2)
    let session = try fixture.ferry.session()
    let protocolName = hasHTTP2 ? "h2" : "http/1.1"
    for (host, name) in [("localhost", "localhost"), ("LocalHost", "localhost"), ("127.0.0.1", "")] {
      let url = fixture.nginx.url(.good, "/tls", host: host)
      let task = try fixture.ferry.run(url, kind: "data", session: session)
      let text = try fixture.ferry.call("GET", "/v1/tasks/\(task.id)/body").text
      #expect(
        text.split(separator: " ", omittingEmptySubsequences: false).dropFirst(2) == [
          name[...], protocolName[...],
        ])
      let transaction = try fixture.ferry.metrics(of: task.id)["transactionMetrics"]?.elements?.first
      #expect(transaction?["networkProtocolName"]?.string == protocolName)
      #expect(transaction?["negotiatedTLSProtocolVersion"]?.string.map(text.hasPrefix) == true)
    }
  }

  // MARK: Resumption

  /// Whether the server resumed an earlier TLS session on a new connection. The server closes each connection properly,
  /// because a session of an aborted one cannot be resumed (RFC 5246 §7.2.1).
  private func isResumed(_ session: String, asks: Bool = false) throws -> Bool {
    let id = try ferry.create(url, session: session)
    if asks {
      try fixture.answer(ferry.decisionEvent(of: id, "task.didReceiveChallenge"), HandshakeFixture.trust)
    }
    _ = try ferry.end(of: id)
    let metrics = try ferry.metrics(of: id)
    #expect(metrics["transactionMetrics"]?.elements?.first?["isReusedConnection"]?.bool == false)
    let text = try ferry.call("GET", "/v1/tasks/\(id)/body").text
    #expect(text.hasPrefix("TLSv1"))
    return text.split(separator: " ").dropFirst().first == "r"
  }

  /// With TLS 1.2, libcurl 7.88 does not resume sessions that a server has closed. The test then checks only that a
  /// session never resumes another's.
  @Test(arguments: [2, 3]) func `session resumes only its own TLS sessions`(_ version: Int) throws {
    let (first, second) = (try ferry.session(versions(2, version)), try ferry.session(versions(2, version)))
    #expect(try isResumed(first) == false)
    #expect(try isResumed(second) == false)
    guard version == 3 else { return }
    for session in [first, second, first] { #expect(try isResumed(session)) }
    #expect(try isResumed(ferry.session(versions(2, version))) == false)
  }

  /// A resumed TLS session has no certificate that a delegate could judge.
  @Test(arguments: [2, 3]) func `session with trust decisions resumes none`(_ version: Int) throws {
    let session = try ferry.session(versions(2, version), delegate: #"{"taskChallenges":"ask"}"#)
    for isFirst in [true, false, false] { #expect(try isResumed(session, asks: isFirst) == false) }
  }

  /// A session with pins resumes only TLS sessions whose chain it has checked itself.
  @Test func `pins are checked before resumption`() throws {
    let pin = "sha256/" + (try #require(try CertificateKit.shared().authorityKeyPins().first))
    let session = try ferry.session(#"{"tlsPinnedPublicKeys":{"127.0.0.1":["\#(pin)"]}}"#)
    #expect(try isResumed(ferry.session()) == false)
    #expect(try isResumed(session) == false)
    #expect(try isResumed(session))
  }
}
