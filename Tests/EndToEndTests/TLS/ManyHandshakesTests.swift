import Foundation
import JSON
import TestSupport
import Testing

/// Three hundred paused handshakes use almost no CPU time, and their memory is freed.
@Suite(.serialized, .blocking) struct ManyHandshakesTests {
  private let fixture: HandshakeFixture
  private var ferry: FerryProcess { fixture.ferry }

  init() throws { fixture = try HandshakeFixture(isAlone: true) }

  /// Starts `count` tasks in a session and returns their challenges.
  private func hold(_ count: Int, in session: String) throws -> [EventReader.Event] {
    let path = "/v1/sessions/\(session)"
    let questions = try ferry.events(path + "/events?types=\(HandshakeFixture.event)")
    let line =
      #"{"kind":"data","resume":true,"request":{"url":"\#(fixture.nginx.url(.selfSigned, "/hello.txt"))"}}"#
    let batch = [String](repeating: line, count: count).joined(separator: "\n")
    let type = [("Content-Type", "application/x-ndjson")]
    #expect(try ferry.call("POST", path + "/tasks", batch, type).lines.count == count)
    return try (0..<count).compactMap { _ in try questions.next() }
  }

  private func session(connections: Int) throws -> String {
    try ferry.session(
      #"{"httpMaximumConnectionsPerHost":\#(connections)}"#,
      delegate: #"{"sessionChallenges":"ask","decisionTimeout":600}"#)
  }

  @Test func `paused handshakes use almost no CPU time`() throws {
    let challenges = try hold(300, in: session(connections: 300))
    #expect(Set(challenges.compactMap(\.task)).count == 300)
    let gauge = ProcessUsage(ferry.processIdentifier)
    var least = Double.infinity
    for _ in 0..<4 where least >= 0.1 {
      let before = try gauge.processorTime()
      usleep(1_000_000)
      least = min(least, try gauge.processorTime() - before)
    }
    #expect(least < 0.1)
    #expect(fixture.nginx.log().isEmpty)
    for (index, challenge) in challenges.enumerated() {
      let answer = index.isMultiple(of: 2) ? HandshakeFixture.trust : HandshakeFixture.cancel
      #expect(try fixture.answer(challenge, answer) == "answered")
    }
    for (index, challenge) in challenges.enumerated() {
      let end = try ferry.end(of: challenge.task ?? "")
      #expect(end.errorCode == (index.isMultiple(of: 2) ? nil : -999))
      #expect(end["body"]?["size"]?.integer == (index.isMultiple(of: 2) ? 5000 : nil))
    }
    #expect(fixture.nginx.log(atLeast: 150).count == 150)
  }

  @Test func `memory of cancelled handshakes is freed`() throws {
    let session = try session(connections: 100)
    let gauge = ProcessUsage(ferry.processIdentifier)
    func round() throws {
      for challenge in try hold(100, in: session) { _ = try ferry.act("cancel", challenge.task ?? "") }
    }
    for _ in 0..<3 { try round() }
    let before = try gauge.residentMemory()
    for _ in 0..<10 { try round() }
    let growth = try gauge.residentMemory() - before
    #expect(growth < 15 * 1024, "\(growth) KiB")
    // Their connections are closed as well.
    let folder = "/proc/\(ferry.processIdentifier)/fd"
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count < 100)
  }
}
