import Foundation
import JSON
import TestSupport
import Testing

/// A task whose `earliestBeginDate` lies after the end of its service.
@Suite(.serialized, .blocking) struct DelayedRestartTests {
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array((request.method + request.path).utf8) + request.body))
    return true
  }

  private static func date(in seconds: Double) -> String {
    Date().addingTimeInterval(seconds).ISO8601Format(.init(includingFractionalSeconds: true))
  }

  @Test(arguments: [true, false]) func `next service honours the begin date`(_ isKilled: Bool) throws {
    let directory = TemporaryDirectory.make("ferry-delayed")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let first = try FerryProcess(directory: directory)
    let id = try first.call(
      "POST", "/v1/tasks",
      #"{"kind":"data","resume":true,"earliestBeginDate":"\#(Self.date(in: 3600))","#
        + #""request":{"url":"\#(origin.url)/first"}}"#
    ).json.id
    if isKilled { first.kill() } else { #expect(first.terminate() == 0) }
    let second = try FerryProcess(directory: directory)
    let task = try second.task(id)
    #expect(task["state"]?.string == "running" && task["phase"]?.string == "queued")
    let body = #"{"earliestBeginDate":"\#(Self.date(in: 0))"}"#
    #expect(try second.call("PATCH", "/v1/tasks/\(id)", body).status == 200)
    #expect(try second.end(of: id)["error"] == .null)
  }
}
