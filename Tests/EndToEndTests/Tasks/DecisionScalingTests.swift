import Foundation
import Glibc
import JSON
import TestSupport
import Testing

/// Ten thousand simultaneous decisions use limited memory and almost no CPU time.
@Suite(.serialized, .blocking) struct DecisionScalingTests {
  private static let count = 10_000
  private let ferry: FerryProcess
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/target")]))
    return true
  }

  init() throws { ferry = try FerryProcess() }

  /// Returns the service's resident memory in MiB.
  private func residentMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(ferry.processIdentifier)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return (line.split(separator: " ").compactMap { Int($0) }.first ?? .max / 2) / 1024
  }

  /// Returns the CPU time that the service has used, in seconds.
  private func processorTime() throws -> Double {
    let stat = try String(contentsOfFile: "/proc/\(ferry.processIdentifier)/stat", encoding: .utf8)
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    let ticks = fields.dropFirst(11).prefix(2).compactMap { Double($0) }
    #expect(ticks.count == 2)
    return ticks.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  @Test func `ten thousand decisions wait with little memory and CPU time`() throws {
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
    #expect(try ferry.task(last.task ?? "")["phase"]?.string == "waitingForDecision")
    #expect(try ferry.answer(last.decision, #"{"request":null}"#).status == 200)
    #expect(try ferry.end(of: last.task ?? "")["response"]?["status"]?.integer == 302)
    try cancel(path)
    #expect(try ferry.decision(events[0].decision)["state"]?.string == "withdrawn")
  }

  /// Expects that the waiting service uses almost no CPU time. It takes the best of a few seconds, because rows are
  /// still being written after the last decision.
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
