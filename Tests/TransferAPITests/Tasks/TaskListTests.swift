import JSON
import TestSupport
import Testing

/// Lists of tasks, with their filters and orders.
@Suite(.serialized, .blocking) struct TaskListTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    return true
  }

  init() throws { place = try InProcessAPI() }

  /// Creates a suspended task and returns its id.
  private func create(
    _ url: String = "http://a.test/", _ members: String = "", in session: String = "ses_shared"
  )
    throws -> String
  {
    let body = #"{"kind":"data","request":{"url":"\#(url)"}\#(members)}"#
    let reply = try place.call("POST", "/v1/sessions/\(session)/tasks", body)
    return try #require(reply.json["id"]?.string, "\(reply.text)")
  }

  private func list(_ query: String = "", of path: String = "/v1/tasks") throws -> [String] {
    let reply = try place.call("GET", path + query)
    try #require(reply.status == 200, "\(reply.text)")
    return try #require(reply.json["items"]?.elements).map(\.id)
  }

  @Test func `list has the tasks of all sessions`() throws {
    let sessions = [
      "ses_shared", try place.session(),
      try place.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#).json.id,
    ]
    let tasks = try sessions.map { try create(in: $0) }
    #expect(try list() == tasks)
    #expect(try list("?order=newest") == tasks.reversed())
    #expect(try list("?order=oldest", of: "/v1/sessions/\(sessions[1])/tasks") == [tasks[1]])
  }

  @Test func `filters select tasks`() throws {
    let plain = try create("http://a.test/b/c.zip", #","description":"nightly import""#)
    let grouped = try create("http://b.test/", #","group":"g 1","labels":{"customer":"17","x":"y"}"#)
    let ended = try place.run(origin.url).id
    let failed = try place.run("http://10.0.0.1/").id
    let cancelled = try create()
    _ = try place.act("cancel", cancelled)
    _ = try place.poll("/v1/tasks/\(cancelled)") { $0["state"]?.string == "completed" }
    let touched = try create()
    _ = try place.act("suspend", touched)
    for (query, wanted) in [
      ("state=completed", [ended, failed, cancelled]), ("outcome=succeeded", [ended]),
      ("outcome=failed", [failed]), ("outcome=cancelled", [cancelled]), ("group=g+1", [grouped]),
      ("label=customer:17", [grouped]), ("label=customer:17&label=x:y", [grouped]),
      ("label=customer:17&label=x:z", []), ("url=*.zip", [plain]), ("urlPrefix=http%3A%2F%2Fb", [grouped]),
      ("description=import", [plain]), ("neverResumed=true", [plain, grouped]),
      ("neverResumed=true&description=import", [plain]), ("id=\(plain)", [plain]),
      ("id=\(plain.suffix(8))", [plain]), ("since=2999-01-01T00:00:00Z", []),
      ("since=2020-01-01T00:00:00Z&kind=download", [ended, failed]),
    ] as [(String, [String])] {
      for path in ["/v1/tasks", "/v1/sessions/ses_shared/tasks"] {
        #expect(try list("?" + query, of: path).sorted() == wanted.sorted(), "\(path)?\(query)")
      }
    }
    let created = try #require(try place.call("GET", "/v1/tasks/\(touched)").json["createdAt"]?.string)
    #expect(try list("?since=\(created)").last == touched)
    let shown = try place.call("GET", "/v1/tasks/\(grouped)").json
    #expect(shown["group"]?.string == "g 1" && shown["labels"]?["customer"]?.string == "17")
    #expect(try place.call("GET", "/v1/tasks/\(failed)").json["outcome"]?.string == "failed")
  }

  @Test(
    arguments: [
      "state=x", "kind=x", "outcome=x", "group=", "label=a", "label=:a", "url=", "urlPrefix=", "description=",
      "neverResumed=x", "since=yesterday", "id=123", "order=x", "group=a&group=b", "cursor=x", "what=x",
      "url=" + String(repeating: "x", count: 257), "group=" + String(repeating: "x", count: 129),
      (0...32).map { "label=a:\($0)" }.joined(separator: "&"),
    ])
  func `wrong filter is named`(_ query: String) throws {
    for path in ["/v1/tasks", "/v1/sessions/ses_shared/tasks"] {
      let reply = try place.call("GET", "\(path)?\(query)")
      let name = query.split(separator: "=")[0]
      #expect(reply.status == 400 && reply.json["errors"]?.elements?.first?["pointer"]?.string == "/\(name)")
    }
  }

  /// The pages of a list, from the first to the last.
  private func pages(_ query: String, of path: String) throws -> [[String]] {
    var (pages, cursor): ([[String]], String?) = ([], "")
    while let place = cursor {
      let reply = try self.place.call("GET", "\(path)?\(query)\(place.isEmpty ? "" : "&cursor=\(place)")")
      try #require(reply.status == 200, "\(reply.text)")
      pages.append(try #require(reply.json["items"]?.elements).map { $0["name"]?.string ?? $0.id })
      cursor = reply.json["nextCursor"]?.string
    }
    return pages
  }

  @Test func `every list has two orders`() throws {
    let tasks = try (0..<5).map { _ in try create() }
    let sessions = try ["ses_shared"] + (0..<2).map { _ in try place.session() }
    for name in ["b", "c", "a"] {
      let reply = try place.call("POST", "/v1/configurations", #"{"name":"\#(name)","configuration":{}}"#)
      #expect(reply.status == 201)
    }
    let files = try (0..<3).map { try place.store([UInt8($0)]) }
    let ended = try list("?state=completed")
    for (path, items) in [
      ("/v1/tasks", tasks + ended), ("/v1/sessions/ses_shared/tasks", tasks), ("/v1/files", files),
    ] {
      #expect(try pages("limit=2&order=oldest", of: path).flatMap(\.self) == items, "\(path)")
      #expect(try pages("limit=2&order=newest", of: path).flatMap(\.self) == items.reversed(), "\(path)")
    }
    let all = try pages("limit=2", of: "/v1/sessions").flatMap(\.self)
    #expect(Set(all).isSuperset(of: sessions))
    #expect(try pages("limit=2&order=newest", of: "/v1/sessions").flatMap(\.self) == all.reversed())
    #expect(try pages("limit=2", of: "/v1/configurations") == [["a", "b"], ["c"]])
    #expect(try pages("limit=2&order=oldest", of: "/v1/configurations") == [["b", "c"], ["a"]])
    #expect(try pages("limit=2&order=newest", of: "/v1/configurations") == [["a", "c"], ["b"]])
    // A cursor of the other order of configurations is refused.
    let cursor = try place.call("GET", "/v1/configurations?limit=1").json["nextCursor"]?.string ?? ""
    let reply = try place.call("GET", "/v1/configurations?order=newest&cursor=\(cursor)")
    #expect(reply.status == 400 && reply.json["errors"]?.elements?.first?["pointer"]?.string == "/cursor")
  }

  @Test func `search of texts ends a page early`() throws {
    let lines = (0..<6000).map { number in
      #"{"kind":"data","request":{"url":"http://a.test/\#(number == 10 ? "wanted" : "other")"}}"#
    }
    let reply = try place.call(
      "POST", "/v1/tasks", lines.joined(separator: "\n"), [("Content-Type", "application/x-ndjson")])
    #expect(reply.status == 200)
    let found = try pages("url=*wanted&order=newest", of: "/v1/tasks")
    #expect(found.map(\.count) == [0, 1])
    #expect(try pages("url=*wanted&order=oldest", of: "/v1/tasks").map(\.count) == [1, 0])
    // A search begins with the newest by default, and a list with the oldest.
    #expect(try pages("url=*wanted", of: "/v1/tasks").map(\.count) == [0, 1])
    let listed = try list("?limit=2")
    #expect(try list("?limit=2&order=oldest") == listed)
    #expect(
      try list("?limit=2&urlPrefix=http", of: "/v1/sessions/ses_shared/tasks")
        == list("?limit=2&order=newest"))
  }

  @Test func `tasks of ephemeral sessions have labels and no group`() throws {
    let session = try place.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#).json.id
    let task = try create("http://a.test/", #","labels":{"a":"1"}"#, in: session)
    #expect(try list("?label=a:1") == [task])
    let body = #"{"kind":"data","group":"g","request":{"url":"http://a.test/"}}"#
    let refused = try place.call("POST", "/v1/sessions/\(session)/tasks", body)
    #expect(refused.status == 422 && refused.json["errors"]?.elements?.first?["pointer"]?.string == "/group")
  }

  @Test func `batch and resume data keep group and labels`() throws {
    let line = #"{"kind":"data","group":"g","labels":{"a":"1"},"request":{"url":"http://a.test/"}}"#
    let reply = try place.call(
      "POST", "/v1/tasks", line + "\n" + line, [("Content-Type", "application/x-ndjson")])
    #expect(reply.text.split(separator: "\n").count == 2)
    #expect(try list("?group=g&label=a:1").count == 2)
    let events = try place.events("/v1/events?after=0&types=task.didCreate").read(upTo: "task.didCreate")
    #expect(events.last?.data["group"]?.string == "g")
  }
}
