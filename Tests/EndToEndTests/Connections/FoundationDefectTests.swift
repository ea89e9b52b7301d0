import Foundation
import JSON
import TestSupport
import Testing

/// Defects of URLSession on Linux, from swift-corelibs-foundation's issues, that no other suite covers.
@Suite(.serialized, .blocking, .sharing) struct FoundationDefectTests {
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

  /// Foundation's cache ignored the query of a URL.
  @Test func `two queries are two resources`() throws {
    for query in ["A", "B", "A"] { #expect(try text(origin.url + "/q?q=\(query)") == "/q?q=\(query)") }
  }

  /// Foundation sent cookies to all paths, and `Secure` ones without TLS.
  @Test func `cookie is sent only to its path and over TLS`() throws {
    _ = try ferry.run(origin.url + "/cookie", kind: "data")
    _ = try ferry.run(origin.url + "/elsewhere", kind: "data")
    #expect(origin.requests.allSatisfy { $0["Cookie"] == nil })
  }

  /// #5456: a 401 without an answer to its challenge hung forever.
  @Test(arguments: ["data", "download"]) func `unanswered 401 is the response`(_ kind: String) throws {
    let task = try ferry.run(origin.url + "/401", kind: kind, query: "?include=body")
    #expect(task["response"]?["status"]?.integer == 401 && task["error"] == .null)
    #expect(task["body"]?["text"]?.string == "who?")
  }

  /// #5285: a connection that dropped right after the request crashed the process.
  @Test func `connection that drops after the request is an error`() throws {
    #expect(try ferry.run(origin.url + "/drop", kind: "data").errorCode == -1011)
    #expect(try text(origin.url + "/alive") == "/alive")
  }

  /// #3287, #5532: thirty simultaneous POSTs timed out, and bodies of more than 64 KB stalled.
  @Test func `thirty large POSTs complete`() throws {
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

  /// #3296: a task that was cancelled while it failed ended twice.
  @Test func `cancelled failing task ends once`() throws {
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
  @Test func `a hundred short sessions work`() throws {
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
