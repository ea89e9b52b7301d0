import JSON
import TestSupport
import Testing

/// To trust is to accept one chain of one host in one session; and a connection is asked about once.
@Suite(.serialized, .blocking, .sharing) struct TrustMemoryTests {
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

  /// Runs a task to the end, which is waited for, and says yes to each question; returns how many there were.
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

  @Test func theNextConnectionOfTheSessionIsNotAskedFor() throws {
    let session = try session()
    #expect(try run(session) == 1)
    for count in 2...4 {
      relay.cut()
      #expect(try run(session) == 0)
      #expect(relay.connections == count)
    }
  }

  @Test func anOpenConnectionIsNotAskedAbout() throws {
    let session = try session()
    #expect(try run(session) == 1)
    for _ in 0..<3 { #expect(try run(session) == 0) }
    #expect(relay.connections == 1)
  }

  @Test func anotherSessionIsAsked() throws {
    let (first, second) = (try session(), try session())
    #expect(try run(first) == 1)
    #expect(try run(second) == 1)
    relay.cut()
    #expect(try run(first) == 0 && run(second) == 0)
    // And one that does not ask is not let in.
    #expect(try ferry.run("https://127.0.0.1:\(relay.port)/", session: ferry.session()).errorCode == -1203)
  }

  @Test func anotherNameOrPortIsAskedAbout() throws {
    let session = try session()
    #expect(try run(session) == 1)
    #expect(try run(session, host: "localhost") == 1)
    #expect(try run(session, port: fixture.nginx.port(.selfSigned)) == 1)
    relay.cut()
    #expect(try run(session) == 0 && run(session, host: "localhost") == 0)
  }

  /// The server comes back with another certificate, and then with the first one.
  @Test func anotherCertificateIsAskedAbout() throws {
    let session = try session()
    #expect(try run(session) == 1)
    for (face, count) in [(NginxServer.Face.expired, 1), (.good, 1), (.selfSigned, 0), (.expired, 0)] {
      relay.redirect(to: fixture.nginx.port(face))
      relay.cut()
      #expect(try run(session) == count, "\(face)")
    }
  }

  /// What was refused stays refused where another chain was accepted before.
  @Test func anAcceptedChainDoesNotVouchForTheNext() throws {
    let session = try session()
    #expect(try run(session) == 1)
    relay.redirect(to: fixture.nginx.port(.unknownRoot))
    relay.cut()
    let id = try ferry.create("https://127.0.0.1:\(relay.port)/hello.txt", session: session)
    try fixture.answer(ferry.question(of: id, HandshakeFixture.event), HandshakeFixture.byDefault)
    #expect(try ferry.end(of: id).errorCode == -1203)
  }

  /// The trust is remembered in memory, like a connection; it does not outlive the service.
  @Test func aNewProcessAsksAgain() throws {
    let directory = TemporaryDirectory.make("ferry-trust")
    var service = try FerryProcess(directory: directory)
    let session = try service.session(delegate: HandshakeFixture.asking)
    for _ in 0..<2 {
      let id = try service.create("https://127.0.0.1:\(relay.port)/hello.txt", session: session)
      let challenge = try service.question(of: id, HandshakeFixture.event)
      try service.answer(challenge.decision, HandshakeFixture.trust)
      #expect(try service.end(of: id)["error"] == .null)
      #expect(service.terminate() == 0)
      service = try FerryProcess(directory: directory)
    }
  }

  /// Tasks at once: each connection is asked about, and an answer that was given meanwhile counts for the next.
  @Test func tasksAtOnceAreAskedForEachConnection() throws {
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

  /// One connection for all: whoever opens it is asked. Where it says no, the next one is.
  @Test func streamsOfAConnectionAreAskedOnce() throws {
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
