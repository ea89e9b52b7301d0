import Foundation
import Glibc
import JSON
import TestSupport
import Testing

/// Ten thousand tasks that wait for their delegate at the same time cost memory, within bounds, and nothing else.
@Suite(.serialized, .blocking) struct ManyDecisionsTests {
  private static let count = 10_000
  private let ferry: FerryProcess
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/target")]))
    return true
  }

  init() throws { ferry = try FerryProcess() }

  /// MiB of memory that the service holds.
  private func residentMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(ferry.processIdentifier)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return (line.split(separator: " ").compactMap { Int($0) }.first ?? .max / 2) / 1024
  }

  /// Seconds of processor time that the service has used.
  private func processorTime() throws -> Double {
    let stat = try String(contentsOfFile: "/proc/\(ferry.processIdentifier)/stat", encoding: .utf8)
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    let ticks = fields.dropFirst(11).prefix(2).compactMap { Double($0) }
    #expect(ticks.count == 2)
    return ticks.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  @Test func theyAllWaitQuietly() throws {
    let session = try ferry.session(delegate: #"{"redirects":"ask","decisionTimeout":600}"#)
    let path = "/v1/sessions/\(session)"
    let questions = try ferry.events(path + "/events?after=0&types=task.willPerformHTTPRedirection")
    let line = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/hop"}}"#
    let batch = [String](repeating: line, count: 500).joined(separator: "\n")
    for _ in 0..<(Self.count / 500) {
      let reply = try ferry.call(
        "POST", path + "/tasks", batch, [("Content-Type", "application/x-ndjson")])
      #expect(reply.status == 200 && reply.lines.count == 500)
    }
    var events: [EventReader.Event] = []
    while events.count < Self.count, let event = try questions.next() { events.append(event) }
    #expect(Set(events.map(\.decision)).count == Self.count)
    #expect(try residentMemory() < 250)
    try idles()
    let last = try #require(events.last)
    let durations = try (0..<5).map { _ in
      try ContinuousClock().measure {
        let task = try ferry.task(last.task ?? "")
        #expect(task["phase"]?.string == "waitingForDecision")
      }
    }
    #expect(try #require(durations.min()) < .milliseconds(500))
    #expect(try ferry.answer(last.decision, #"{"request":null}"#).status == 200)
    #expect(try ferry.end(of: last.task ?? "")["response"]?["status"]?.integer == 302)
    try cancel(path)
    #expect(try ferry.decision(events[0].decision)["state"]?.string == "withdrawn")
  }

  /// The service does next to nothing while it waits: what is measured is the best of a few seconds, as what was
  /// created is still being written when the last question is asked.
  private func idles() throws {
    var least = Double.infinity
    for _ in 0..<4 where least >= 0.2 {
      let before = try processorTime()
      usleep(1_000_000)
      least = min(least, try processorTime() - before)
    }
    #expect(least < 0.2)
  }

  private func cancel(_ path: String) throws {
    let end = try ferry.events(path + "/events?types=session.didBecomeInvalid")
    #expect(try ferry.call("POST", path + "/invalidate", #"{"mode":"cancelTasks"}"#).status == 202)
    #expect(try end.next()?.type == "session.didBecomeInvalid")
    #expect(try ferry.call("GET", path).json["state"]?.string == "invalid")
    let left = try ferry.call("GET", path + "/decisions?state=pending&limit=1").json["items"]
    #expect(left?.elements?.isEmpty == true)
  }
}
