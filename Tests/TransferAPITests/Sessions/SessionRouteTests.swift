import JSON
import TestSupport
import Testing

/// `/v1/sessions`: creation and end, lists of tasks, idempotency keys.
@Suite(.serialized, .blocking) struct SessionRouteTests {
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return (try socket.readSome()) != nil }
    let size = Int(request.path.dropFirst()) ?? 2
    try socket.write(TestOrigin.reply("200 OK", [UInt8](repeating: 65, count: size)))
    return true
  }

  private func task(_ path: String, kind: String = "download", resume: Bool = true) -> String {
    #"{"kind":"\#(kind)","resume":\#(resume),"request":{"url":"\#(origin.url)\#(path)"}}"#
  }

  @Test func `session is created, invalidated and deleted`() throws {
    let place = try InProcessAPI()
    let created = try place.call(
      "POST", "/v1/sessions",
      #"{"type":"default","description":"x","configuration":{"httpMaximumConnectionsPerHost":2}}"#)
    #expect(
      created.status == 201 && created.json["configuration"]?["httpMaximumConnectionsPerHost"]?.integer == 2)
    let id = try #require(created.json["id"]?.string)
    let read = try place.call("GET", "/v1/sessions/\(id)")
    #expect(read.json == created.json)
    #expect(
      try place.call("GET", "/v1/sessions/\(id)", nil, [("If-None-Match", read["ETag"] ?? "")]).status == 304)
    let path = "/v1/sessions/\(id)"
    let running = try place.call("POST", path + "/tasks", task("/silent")).json["id"]?.string ?? ""
    #expect(try place.call("DELETE", path).status == 409)
    let events = try place.events(path + "/events?after=0")
    #expect(try place.call("POST", path + "/invalidate", #"{"mode":"finishTasks"}"#).status == 202)
    #expect(try place.call("GET", path).json["state"]?.string == "invalidating")
    #expect(try place.call("POST", path + "/tasks", task("/")).status == 409)
    #expect(try place.call("POST", path + "/invalidate", #"{"mode":"cancelTasks"}"#).status == 202)
    let types = try events.read(upTo: "session.didBecomeInvalid").suffix(2).map(\.type)
    #expect(types == ["task.didComplete", "session.didBecomeInvalid"])
    #expect(try place.call("GET", path).json["state"]?.string == "invalid")
    #expect(try place.call("DELETE", path).status == 204)
    #expect(try place.call("GET", path).status == 404)
    #expect(try place.call("GET", "/v1/tasks/\(running)").status == 404)
  }

  @Test func `cancelTasks ends the suspended tasks of a session`() throws {
    let place = try InProcessAPI()
    let session = try place.session()
    for _ in 0..<5 { _ = try place.call("POST", "/v1/sessions/\(session)/tasks", task("/", resume: false)) }
    _ = try place.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
    let ended = try place.poll("/v1/sessions/\(session)") { $0["state"]?.string == "invalid" }
    #expect(ended["state"]?.string == "invalid")
  }

  @Test func `list of tasks has pages`() throws {
    let place = try InProcessAPI()
    let session = try place.session()
    var ids: [String] = []
    for _ in 0..<7 {
      ids.append(
        try place.call("POST", "/v1/sessions/\(session)/tasks", task("/", resume: false)).json["id"]?.string
          ?? "")
    }
    var (seen, target): ([String], String?) = ([], "/v1/sessions/\(session)/tasks?limit=3")
    while let next = target {
      let page = try place.call("GET", next)
      seen += (page.json["items"]?.elements ?? []).compactMap { $0["id"]?.string }
      target = page["Link"].map { String($0.dropFirst().prefix { $0 != ">" }) }
      #expect((target == nil) == (page.json["nextCursor"] == .null))
    }
    #expect(seen == ids)
    let filtered = try place.call("GET", "/v1/sessions/\(session)/tasks?kind=data&state=suspended")
    #expect(filtered.json["items"]?.elements?.isEmpty == true)
  }

  @Test func `immediate repetition gets the first reply with its wait`() throws {
    let place = try InProcessAPI()
    for turn in 0..<40 {
      let fields = [("Idempotency-Key", "turn-\(turn)"), ("Prefer", Patience.preference)]
      let first = try place.call("POST", "/v1/tasks", task("/"), fields)
      let again = try place.call("POST", "/v1/tasks", task("/"), fields)
      #expect(first.status == 200 && again.status == 200 && first.body == again.body)
      #expect(first["Location"] == again["Location"] && first["ETag"] == again["ETag"])
    }
  }

  @Test func `lists show webhook URLs without their queries`() throws {
    let place = try InProcessAPI()
    func webhook(_ name: String) -> String {
      #"{"webhook":{"url":"http://127.0.0.1:1/\#(name)?token=hushed"}}"#
    }
    let session = try place.session(delegate: webhook("session"))
    let more = #","completion":\#(webhook("completion")),"delegate":\#(webhook("task"))"#
    let body = #"{"kind":"data","request":{"url":"\#(origin.url)/?q=shown"}\#(more)}"#
    let task = try place.call("POST", "/v1/sessions/\(session)/tasks", body).json["id"]?.string ?? ""
    let sessions = try place.call("GET", "/v1/sessions").json["items"]?.elements ?? []
    let listed = try #require(sessions.first { $0["id"]?.string == session })
    #expect(listed["delegate"]?["webhook"]?["url"]?.string == "http://127.0.0.1:1/session")
    let tasks = try place.call("GET", "/v1/sessions/\(session)/tasks")
    let item = try #require(tasks.json["items"]?.elements?.first)
    #expect(item["completion"]?["webhook"]?["url"]?.string == "http://127.0.0.1:1/completion")
    #expect(item["delegate"]?["webhook"]?["url"]?.string == "http://127.0.0.1:1/task")
    #expect(!tasks.text.contains("hushed") && tasks.text.contains("q=shown"))
    // The task and the session themselves show the whole URLs.
    #expect(
      try place.call("GET", "/v1/tasks/\(task)").json["completion"]?["webhook"]?["url"]?.string
        == "http://127.0.0.1:1/completion?token=hushed")
    #expect(
      try place.call("GET", "/v1/sessions/\(session)").json["delegate"]?["webhook"]?["url"]?.string
        == "http://127.0.0.1:1/session?token=hushed")
  }

  @Test func idempotencyKeyGivesTheFirstReplyAgain() throws {
    let place = try InProcessAPI()
    let body = task("/", resume: false)
    let key = [("Idempotency-Key", "\"abc\"")]
    let first = try place.call("POST", "/v1/tasks", body, key)
    let again = try place.call("POST", "/v1/tasks", body, key)
    #expect(first.status == 201 && again.status == 201 && first.body == again.body)
    #expect(first["Location"] == again["Location"] && first["ETag"] == again["ETag"])
    #expect(try place.call("POST", "/v1/tasks", task("/other"), key).status == 422)
    #expect(try place.call("GET", "/v1/sessions/ses_shared/tasks").json["items"]?.elements?.count == 1)
    let batch = [body, body].joined(separator: "\n")
    let fields = [("Content-Type", "application/x-ndjson"), ("Idempotency-Key", "batch")]
    let lines = try place.call("POST", "/v1/tasks", batch, fields)
    #expect(try place.call("POST", "/v1/tasks", batch, fields).body == lines.body && lines.lines.count == 2)
  }
}
