import Glibc
import JSON
import TestSupport
import Testing

/// Connections to origins: failures, timeouts, and many at once.
@Suite(.serialized, .blocking, .sharing) struct ConnectionTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    if request.path == "/slow" { usleep(900_000) }
    if request.path == "/silent" { return try socket.readSome() != nil }
    try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    return true
  }

  init() throws { ferry = try .ofSuite(networks: ["127.0.0.0/8", "::1/128"]) }

  /// The codes of Ferry and libcurl for unreachable hosts.
  @Test(
    arguments: [
      ("http://127.0.0.1:1/", -1004, 7), ("https://127.0.0.1:1/", -1004, 7),
      ("http://nonexistent.invalid/", -1003, 6), ("https://nonexistent.invalid/", -1003, 6),
    ] as [(String, Int64, Int64)]) func `unreachable host is an error`(
      _ url: String, _ code: Int64, _ underlying: Int64
    ) throws
  {
    for kind in ["data", "download"] {
      let id = try ferry.create(url, kind: kind)
      let types = try ferry.story(of: id).map(\.type)
      #expect(Array(types.suffix(2)) == ["task.didFinishCollectingMetrics", "task.didComplete"])
      let task = try ferry.task(id)
      let error = try #require(task["error"])
      #expect(error["domain"]?.string == "NSURLErrorDomain" && error["code"]?.integer == code)
      #expect(error["failingURL"]?.string == url)
      #expect(error["underlying"]?["library"]?.string == "libcurl")
      #expect(error["underlying"]?["code"]?.integer == underlying)
      #expect(task["response"] == .null && task["body"] == .null)
    }
  }

  /// After Foundation's tests `taskError`, `unhandledURLProtocol` and `requestToNilURL`: an impossible URL is refused
  /// before a task exists.
  @Test(arguments: [
    ("http://127.0.0.1:999999/", "-1000"), ("http://127.0.0.1:-1/", "-1000"), ("", "-1000"),
    ("/relative", "-1000"), ("http://", "-1000"), ("http://[::1/", "-1000"), ("ftp://127.0.0.1/", "-1002"),
    ("foobar://127.0.0.1/", "-1002"), ("mailto:a@b.test", "-1002"), ("127.0.0.1:80/", "-1000"),
  ]) func `impossible URL is refused at creation`(_ url: String, _ code: String) throws {
    let reply = try ferry.call("POST", "/v1/tasks", #"{"kind":"data","request":{"url":"\#(url)"}}"#)
    #expect(reply.status == 400)
    let errors = reply.json["errors"]?.elements ?? []
    #expect(errors.compactMap { $0["pointer"]?.string } == ["/request/url"])
    #expect(String(decoding: reply.body, as: UTF8.self).contains(code))
  }

  /// After Foundation's test `downloadTaskWithIPv6URLRequest`.
  @Test(.enabled(if: NginxServer.hasIPv6)) func `IPv6 address in brackets is a host`() throws {
    let nginx = try NginxServer()
    let trusting = try FerryProcess(networks: ["::1/128"], options: ["--ca-file", nginx.authorityFile])
    for face in [NginxServer.Site.plain, .good] {
      for kind in ["download", "data"] {
        let id = try trusting.create(nginx.url(face, "/hello.txt", host: "[::1]"), kind: kind)
        let task = try trusting.end(of: id)
        #expect(task["error"] == .null && task["body"]?["size"]?.integer == 5000)
        let transaction = try trusting.metrics(of: id)["transactionMetrics"]?.elements?.first
        #expect(transaction?["remoteAddress"]?.string == "::1")
      }
    }
  }

  /// After Foundation's tests `httpTimeout` and `taskTimeout`: the request's timeout applies, whether shorter or longer
  /// than the session's.
  @Test func `timeout of the request overrides that of the session`() throws {
    let patient = try ferry.session(#"{"timeoutIntervalForRequest":20}"#)
    let hanging = try ferry.run(
      origin.url + "/silent", session: patient, request: #","timeoutInterval":0.4"#)
    #expect(hanging.errorCode == -1001 && hanging["error"]?["name"]?.string == "timedOut")
    #expect(hanging["error"]?["failingURL"]?.string == origin.url + "/silent")
    let hasty = try ferry.session(#"{"timeoutIntervalForRequest":0.4}"#)
    #expect(try ferry.run(origin.url + "/silent", session: hasty).errorCode == -1001)
    let waited = try ferry.run(origin.url + "/slow", session: hasty, request: #","timeoutInterval":20"#)
    #expect(waited["error"] == .null)
  }

  /// The origin closes a kept connection, and the next request opens another.
  @Test func `closed connection is replaced`() throws {
    let closing = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
      return false
    }
    let session = try ferry.session()
    for method in ["GET", "POST", "GET", "PUT"] {
      let task = try ferry.run(closing.url, session: session, request: #","method":"\#(method)""#)
      #expect(task["error"] == .null, "\(method)")
    }
    #expect(closing.requests.count == 4)
  }

  /// After Foundation's test `concurrentRequests`: sessions run at once, each with its own connections.
  @Test func `sessions do not wait for each other`() throws {
    let line = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/x"}}"# + "\n"
    let sessions = try (0..<10).map { _ in try ferry.session() }
    for session in sessions { try batch(String(repeating: line, count: 10), session) }
    for session in sessions { #expect(try ends(of: session, 10).allSatisfy { $0.data["error"] == .null }) }
    #expect(origin.requests.count == 100)
  }

  /// After Foundation's test `repeatedRequestsStress`: 3,000 requests in three overlapping batches.
  @Test func `three thousand small requests complete`() throws {
    let session = try ferry.session()
    let lines = (0..<1000).map {
      #"{"kind":"\#($0 % 2 == 0 ? "data" : "download")","resume":true,"request":{"url":"\#(origin.url)/\#($0)"}}"#
    }
    for _ in 0..<3 { try batch(lines.joined(separator: "\n"), session) }
    let ends = try ends(of: session, 3000)
    #expect(ends.allSatisfy { $0.data["error"] == .null && $0.data["status"]?.integer == 200 })
    #expect(Set(ends.compactMap(\.task)).count == 3000)
    let sizes = ends.map { Int($0.data["body"]?["size"]?.integer ?? 0) }
    let expected = (0..<1000).map { "/\($0)".utf8.count }
    #expect(sizes.reduce(0, +) == 3 * expected.reduce(0, +))
    #expect(origin.requests.count == 3000)
  }

  private func batch(_ lines: String, _ session: String) throws {
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks", lines, [("Content-Type", "application/x-ndjson")])
    #expect(reply.status == 200)
  }

  private func ends(of session: String, _ count: Int) throws -> [EventReader.Event] {
    let events = try ferry.events("/v1/sessions/\(session)/events?after=0&types=task.didComplete")
    var ends: [EventReader.Event] = []
    while ends.count < count, let event = try events.next() { ends.append(event) }
    return ends
  }
}
