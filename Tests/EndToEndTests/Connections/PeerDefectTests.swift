import Foundation
import JSON
import TestSupport
import Testing

/// What users of URLSession on Linux report (swift-corelibs-foundation's issues), where no other suite has a case for it.
@Suite(.serialized, .blocking, .sharing) struct PeerDefectTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    switch request.path.split(separator: "?").first ?? "" {
    case "/401":
      try socket.write(
        TestOrigin.reply("401 Unauthorized", Array("who?".utf8), [("WWW-Authenticate", "Basic realm=\"r\"")]))
    case "/drop": return false
    case "/cookie":
      try socket.write(
        TestOrigin.reply(
          "200 OK", [], [("Set-Cookie", "a=b; Path=/cookie; Secure"), ("Cache-Control", "max-age=60")]))
    default:
      try socket.write(
        TestOrigin.reply("200 OK", Array(request.path.utf8) + request.body, [("Cache-Control", "max-age=60")])
      )
    }
    return true
  }

  init() throws { ferry = try .ofSuite() }

  private func text(_ url: String) throws -> String? {
    try ferry.run(url, kind: "data", query: "?include=body")["body"]?["text"]?.string
  }

  /// The peer answered a query with what it had stored for another one.
  @Test func twoQueriesAreTwoResources() throws {
    for query in ["A", "B", "A"] { #expect(try text(origin.url + "/q?q=\(query)") == "/q?q=\(query)") }
  }

  /// The peer sent cookies whatever their path, and Secure ones in the clear.
  @Test func aCookieDoesNotGoWhereItDoesNotBelong() throws {
    _ = try ferry.run(origin.url + "/cookie", kind: "data")
    _ = try ferry.run(origin.url + "/elsewhere", kind: "data")
    #expect(origin.requests.allSatisfy { $0["Cookie"] == nil })
  }

  /// #5456: a 401 that nobody answers hung for ever.
  @Test(arguments: ["data", "download"]) func a401IsAnAnswer(_ kind: String) throws {
    let task = try ferry.run(origin.url + "/401", kind: kind, query: "?include=body")
    #expect(task["response"]?["status"]?.integer == 401 && task["error"] == .null)
    #expect(task["body"]?["text"]?.string == "who?")
  }

  /// #5285: a connection that drops right after the request ended the process.
  @Test func aConnectionThatDropsAfterTheRequestIsAnError() throws {
    #expect(try ferry.run(origin.url + "/drop", kind: "data").errorCode == -1011)
    #expect(try text(origin.url + "/alive") == "/alive")
  }

  /// #3287, #5532: thirty POSTs at once timed out, and bodies of more than 64 KB stalled.
  @Test func thirtyLargePOSTsAtOnce() throws {
    let body = String(repeating: "x", count: 100_000)
    let lines = (0..<30).map { number in
      #"{"kind":"upload","resume":true,"request":{"url":"\#(origin.url)/\#(number)","body":{"text":"\#(body)"}}}"#
    }
    let reply = try ferry.call(
      "POST", "/v1/tasks", lines.joined(separator: "\n"), [("Content-Type", "application/x-ndjson")])
    #expect(reply.lines.count == 30)
    for (number, task) in reply.lines.enumerated() {
      let ended = try ferry.end(of: task.id)
      #expect(ended["error"] == .null)
      #expect(ended["body"]?["size"]?.integer == Int64(body.utf8.count + "/\(number)".utf8.count))
    }
  }

  /// #3296: a task that failed at once and was cancelled at the same time ended twice.
  @Test func cancellingWhatFailsEndsOnce() throws {
    let session = try ferry.session()
    let ids = try (0..<30).map { _ in try ferry.create("http://127.0.0.1:1/", session: session) }
    for id in ids { _ = try ferry.act("cancel", id) }
    for id in ids { #expect([-999, -1004].contains(try ferry.end(of: id).errorCode)) }
    #expect(
      try ferry.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"finishTasks"}"#).status == 202)
    let events = try ferry.events(
      "/v1/sessions/\(session)/events?after=0&types=task.didComplete,session.didBecomeInvalid"
    )
    .read(upTo: "session.didBecomeInvalid")
    #expect(events.count == ids.count + 1)
  }

  /// #5203: sessions that live for one request aborted the process.
  @Test func aHundredShortSessions() throws {
    for _ in 0..<100 {
      let session = try ferry.session()
      #expect(try ferry.run(origin.url + "/short", session: session)["error"] == .null)
      let path = "/v1/sessions/\(session)"
      #expect(try ferry.call("POST", path + "/invalidate").status == 202)
      #expect(try ferry.poll(path) { $0["state"]?.string == "invalid" }["state"]?.string == "invalid")
      #expect(try ferry.call("DELETE", path).status == 204)
    }
    #expect(try text(origin.url + "/alive") == "/alive")
  }
}
