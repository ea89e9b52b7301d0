import JSON
import TestSupport
import Testing

/// Trust covers one certificate chain of one host and port in one session. Each connection asks at most once.
@Suite(.serialized, .blocking, .sharing) struct TrustReuseTests {
  private let fixture: HandshakeFixture
  private let relay: TCPRelay
  private var ferry: FerryProcess { fixture.ferry }

  init() throws {
    fixture = try HandshakeFixture()
    relay = TCPRelay(to: fixture.nginx.port(.selfSigned))
  }

  private func session(_ configuration: String = FerryProcess.uncached) throws -> String {
    try ferry.session(configuration, delegate: HandshakeFixture.asking)
  }

  /// Runs a task to its end, trusts the server at each challenge, and returns the number of challenges.
  private func run(_ session: String, host: String = "127.0.0.1", port: Int? = nil) throws -> Int {
    let id = try ferry.create("https://\(host):\(port ?? relay.port)/hello.txt", session: session)
    let events = try ferry.events("/v1/tasks/\(id)/events?after=0")
    var count = 0
    while let event = try events.next(), event.type != "task.didComplete" {
      guard event.type == HandshakeFixture.event else { continue }
      count += 1
      try fixture.answer(event, HandshakeFixture.trust)
    }
    #expect(try ferry.task(id)["error"] == .null)
    return count
  }

  @Test func `next connection of the session is not challenged`() throws {
    let session = try session()
    #expect(try run(session) == 1)
    for count in 2...4 {
      relay.cut()
      #expect(try run(session) == 0)
      #expect(relay.connections == count)
    }
  }

  @Test func `open connection is not challenged again`() throws {
    let session = try session()
    #expect(try run(session) == 1)
    for _ in 0..<3 { #expect(try run(session) == 0) }
    #expect(relay.connections == 1)
  }

  @Test func `another session is challenged`() throws {
    let (first, second) = (try session(), try session())
    #expect(try run(first) == 1)
    #expect(try run(second) == 1)
    relay.cut()
    #expect(try run(first) == 0 && run(second) == 0)
    // A session without a delegate does not inherit the trust.
    #expect(try ferry.run("https://127.0.0.1:\(relay.port)/", session: ferry.session()).errorCode == -1203)
  }

  @Test func `another host name or port is challenged`() throws {
    let session = try session()
    #expect(try run(session) == 1)
    #expect(try run(session, host: "localhost") == 1)
    #expect(try run(session, port: fixture.nginx.port(.selfSigned)) == 1)
    relay.cut()
    #expect(try run(session) == 0 && run(session, host: "localhost") == 0)
  }

  /// The server changes its certificate and later returns to the first one.
  @Test func `another certificate is challenged`() throws {
    let session = try session()
    #expect(try run(session) == 1)
    for (face, count) in [(NginxServer.Site.expired, 1), (.good, 1), (.selfSigned, 0), (.expired, 0)] {
      relay.redirect(to: fixture.nginx.port(face))
      relay.cut()
      #expect(try run(session) == count, "\(face)")
    }
  }

  @Test func `accepted chain does not vouch for another chain`() throws {
    let session = try session()
    #expect(try run(session) == 1)
    relay.redirect(to: fixture.nginx.port(.unknownRoot))
    relay.cut()
    let id = try ferry.create("https://127.0.0.1:\(relay.port)/hello.txt", session: session)
    try fixture.answer(ferry.decisionEvent(of: id, HandshakeFixture.event), HandshakeFixture.byDefault)
    #expect(try ferry.end(of: id).errorCode == -1203)
  }

  /// Trust is kept in memory, so it ends with the service.
  @Test func `restarted service challenges again`() throws {
    let directory = TemporaryDirectory.make("ferry-trust")
    var service = try FerryProcess(directory: directory)
    let session = try service.session(delegate: HandshakeFixture.asking)
    for _ in 0..<2 {
      let id = try service.create("https://127.0.0.1:\(relay.port)/hello.txt", session: session)
      let challenge = try service.decisionEvent(of: id, HandshakeFixture.event)
      try service.answer(challenge.decision, HandshakeFixture.trust)
      #expect(try service.end(of: id)["error"] == .null)
      #expect(service.terminate() == 0)
      service = try FerryProcess(directory: directory)
    }
  }

  /// Three connections open at once, and each asks. The later tasks reuse them.
  @Test func `each simultaneous connection is challenged`() throws {
    let session = try session(#"{"httpMaximumConnectionsPerHost":3}"#)
    let url = "https://127.0.0.1:\(relay.port)/hello.txt"
    let ids = try (0..<9).map { _ in try ferry.create(url, session: session) }
    let questions = try ferry.events("/v1/sessions/\(session)/events?after=0&types=\(HandshakeFixture.event)")
    let asked = try (0..<3).compactMap { _ in try questions.next() }
    #expect(Set(asked.compactMap(\.task)) == Set(ids.prefix(3)))
    for challenge in asked { try fixture.answer(challenge, HandshakeFixture.trust) }
    for id in ids { #expect(try ferry.end(of: id)["error"] == .null) }
    #expect(try ids.map { try fixture.challenges(of: $0) } == [1, 1, 1, 0, 0, 0, 0, 0, 0])
  }

  /// All streams share one connection, and only the task that opens it asks. If that task is cancelled, the next one
  /// asks.
  @Test func `streams of one connection are challenged once`() throws {
    let session = try session(#"{"httpShouldUsePipelining":true}"#)
    let url = "https://127.0.0.1:\(relay.port)/hello.txt"
    let ids = try (0..<5).map { _ in try ferry.create(url, session: session) }
    let questions = try ferry.events("/v1/sessions/\(session)/events?after=0&types=\(HandshakeFixture.event)")
    let first = try #require(try questions.next())
    try fixture.answer(first, HandshakeFixture.cancel)
    let second = try #require(try questions.next())
    #expect(first.task != second.task)
    try fixture.answer(second, HandshakeFixture.trust)
    for id in ids {
      #expect(try ferry.end(of: id).errorCode == (id == first.task ? -999 : nil))
    }
  }
}
