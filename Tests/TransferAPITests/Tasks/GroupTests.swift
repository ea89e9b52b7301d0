import JSON
import TestSupport
import Testing

/// Groups of tasks: counts, commands, closing and the event of the end.
@Suite(.serialized, .blocking) struct GroupTests {
  private let place: InProcessAPI
  private let gate: Gate
  private let origin: TestOrigin

  init() throws {
    place = try InProcessAPI()
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin { request, socket in
      if request.path == "/gate" { gate.wait() }
      try socket.write(TestOrigin.reply("200 OK", Array("hello".utf8)))
      return true
    }
  }

  private func create(
    _ group: String, _ path: String = "/x", _ members: String = "", in session: String = "ses_shared"
  ) throws -> HTTPReply {
    let body = #"{"kind":"data","group":"\#(group)","request":{"url":"\#(origin.url)\#(path)"}\#(members)}"#
    return try place.call("POST", "/v1/sessions/\(session)/tasks", body)
  }

  private func run(_ group: String, _ members: String = "", in session: String = "ses_shared") throws {
    let task = try create(group, "/x", #","resume":true"# + members, in: session).json.id
    _ = try place.poll("/v1/tasks/\(task)") { $0["state"]?.string == "completed" }
  }

  private func counts(_ group: JSONValue) -> [Int64?] {
    ["suspended", "running", "succeeded", "failed", "cancelled"].map { group["tasks"]?[$0]?.integer }
  }

  private func ends(_ group: String) throws -> [JSONValue] {
    let reply = try place.call(
      "GET", "/v1/events?after=0&types=group.didComplete", nil, [("Accept", "application/json")])
    return try #require(reply.json["items"]?.elements).filter { $0["data"]?["name"]?.string == group }
  }

  @Test func `closed group completes once with its counts`() throws {
    let session = try place.session()
    try run("g 1")
    try run("g 1", in: session)
    let suspended = try create("g 1").json.id
    let open = try place.call("GET", "/v1/groups/g%201").json
    #expect(open["state"]?.string == "open" && counts(open) == [1, 0, 2, 0, 0])
    #expect(open["countOfBytesReceived"]?.integer == 10 && open["closedAt"] == .null)
    let closed = try place.call("POST", "/v1/groups/g%201/close")
    #expect(closed.status == 200 && closed.json["state"]?.string == "closed")
    #expect(try place.call("POST", "/v1/groups/g%201/close").json["closedAt"] == closed.json["closedAt"])
    #expect(try ends("g 1").isEmpty)
    let cancelled = try place.call("POST", "/v1/groups/g%201/cancel").json
    #expect(cancelled["matched"]?.integer == 3 && cancelled["changed"]?.integer == 1)
    let ended = try place.call("GET", "/v1/groups/g%201", nil, [("Prefer", Patience.preference)])
    #expect(ended.json["state"]?.string == "completed" && counts(ended.json) == [0, 0, 2, 0, 1])
    #expect(ended["Preference-Applied"] == Patience.preference)
    // The counts stay after the tasks.
    #expect(try place.call("DELETE", "/v1/tasks/\(suspended)").status == 204)
    #expect(try place.call("GET", "/v1/groups/g%201").json == ended.json)
    let events = try ends("g 1")
    #expect(events.count == 1)
    #expect(events.first?["sessionId"] == .null && events.first?["taskId"] == .null)
    #expect(events.first?["data"] == ended.json)
  }

  @Test func `group that has ended completes when it is closed`() throws {
    try run("g")
    #expect(try place.call("POST", "/v1/groups/g/close").json["state"]?.string == "completed")
    #expect(try ends("g").count == 1)
    #expect(try place.call("POST", "/v1/groups/g/close").json["state"]?.string == "completed")
    #expect(try ends("g").count == 1)
  }

  @Test func `end of a group is one message to each receiver that selects it`() throws {
    for types in ["\"group.didComplete\"", "\"task.didComplete\""] {
      let settings = #"{"url":"http://a.test/hook","events":[\#(types)]}"#
      #expect(try place.call("POST", "/v1/webhooks/endpoints", settings).status == 201)
      let delegate = #"{"delegate":{"webhook":{"url":"http://b.test/hook","events":[\#(types)]}}}"#
      let session = try #require(place.call("POST", "/v1/sessions", delegate).json["id"]?.string)
      for _ in 0..<2 { try run("g", in: session) }
    }
    try run("other")
    _ = try place.call("POST", "/v1/groups/g/close")
    let deliveries = try #require(place.call("GET", "/v1/webhooks/deliveries").json["items"]?.elements)
    let ofGroup = deliveries.filter { $0["type"]?.string == "group.didComplete" }
    let urls = ofGroup.compactMap { $0["url"]?.string }.sorted()
    #expect(urls == ["http://a.test/hook", "http://b.test/hook"], "\(ofGroup)")
    #expect(ofGroup.count { $0["endpoint"] != .null } == 1)
  }

  @Test func `closed group refuses new tasks`() throws {
    _ = try create("g")
    _ = try place.call("POST", "/v1/groups/g/close")
    let refused = try create("g")
    #expect(refused.status == 409 && refused.json["detail"]?.string?.contains("'g'") == true)
    let lines = ["g", "h", "g"].map {
      #"{"kind":"data","group":"\#($0)","request":{"url":"http://a.test/"}}"#
    }
    for key in [[], [("Idempotency-Key", "one")]] {
      let reply = try place.call(
        "POST", "/v1/tasks", lines.joined(separator: "\n"),
        [("Content-Type", "application/x-ndjson")] + key)
      let results = try reply.text.split(separator: "\n").map { try JSONParser.parse(Array($0.utf8)) }
      #expect(results.map { $0["status"]?.integer } == [409, nil, 409], "\(reply.text)")
    }
    #expect(counts(try place.call("GET", "/v1/groups/h").json) == [2, 0, 0, 0, 0])
    #expect(counts(try place.call("GET", "/v1/groups/g").json) == [1, 0, 0, 0, 0])
  }

  /// Each attempt to create the tasks of a batch takes numbers of the session.
  @Test(arguments: [true, false])
  func `batch with many closed groups is tried twice`(_ isIdempotent: Bool) throws {
    let closed = (0..<30).map { "c\($0)" }
    for name in closed {
      _ = try create(name)
      _ = try place.call("POST", "/v1/groups/\(name)/close")
    }
    let session = try place.session()
    let lines = (closed + ["open"]).map {
      #"{"kind":"data","group":"\#($0)","request":{"url":"http://a.test/"}}"#
    }
    let reply = try place.call(
      "POST", "/v1/sessions/\(session)/tasks", lines.joined(separator: "\n"),
      [("Content-Type", "application/x-ndjson")] + (isIdempotent ? [("Idempotency-Key", "many")] : []))
    let results = try reply.text.split(separator: "\n").map { try JSONParser.parse(Array($0.utf8)) }
    #expect(results.count == 31 && results.dropLast().allSatisfy { $0["status"]?.integer == 409 })
    #expect(results.last?["taskIdentifier"]?.integer == 32)
  }

  @Test func `names are compared by their bytes`() throws {
    let (one, two) = ("\u{E9}", "e\u{301}")
    #expect(try create(one).status == 201 && create(two).status == 201)
    _ = try place.call("POST", "/v1/groups/%C3%A9/close")
    #expect(try create(one).status == 409 && create(two).status == 201)
    #expect(counts(try place.call("GET", "/v1/groups/e%CC%81").json) == [2, 0, 0, 0, 0])
    let listed = try #require(place.call("GET", "/v1/tasks?group=e%CC%81").json["items"]?.elements)
    #expect(
      listed.count == 2
        && listed.allSatisfy { $0["group"].map { Array(($0.string ?? "").utf8) } == Array(two.utf8) })
  }

  @Test func `commands concern the tasks of the group`() throws {
    let (chosen, other) = (try create("g", "/gate").json.id, try create("h", "/gate").json.id)
    func state(_ task: String) throws -> String? {
      try place.call("GET", "/v1/tasks/\(task)").json["state"]?.string
    }
    #expect(try place.call("POST", "/v1/groups/g/resume").json["changed"]?.integer == 1)
    #expect(try state(chosen) == "running" && state(other) == "suspended")
    #expect(try place.call("POST", "/v1/groups/g/suspend").json["changed"]?.integer == 1)
    #expect(try state(chosen) == "suspended")
    #expect(try place.call("POST", "/v1/groups/g/cancel").json["changed"]?.integer == 1)
    _ = try place.poll("/v1/tasks/\(chosen)") { $0["state"]?.string == "completed" }
    #expect(try state(other) == "suspended")
    gate.openForGood()
  }

  @Test func `wait ends with the last task of an open group`() throws {
    let tasks = [try create("g", "/gate", #","resume":true"#), try create("g", "/gate", #","resume":true"#)]
    #expect(tasks.allSatisfy { $0.status == 201 })
    let running = try place.call("GET", "/v1/groups/g", nil, [("Prefer", "wait=0.05")])
    #expect(counts(running.json) == [0, 2, 0, 0, 0] && running["Preference-Applied"] == "wait=1")
    gate.openForGood()
    let ended = try place.call("GET", "/v1/groups/g", nil, [("Prefer", Patience.preference)])
    #expect(ended.json["state"]?.string == "open" && counts(ended.json) == [0, 0, 2, 0, 0])
  }

  @Test func `data task that becomes a download stays in its closed group`() throws {
    let session = try place.session("{}", delegate: #"{"responses":"ask"}"#)
    let task = try create("g", "/x", #","resume":true"#, in: session).json.id
    let page = try place.poll("/v1/sessions/\(session)/decisions") { $0["items"]?.elements?.isEmpty == false }
    let decision = try #require(page["items"]?.elements?.first).id
    _ = try place.call("POST", "/v1/groups/g/close")
    let answer = try place.call("POST", "/v1/decisions/\(decision)", #"{"disposition":"becomeDownload"}"#)
    #expect(answer.status == 200, "\(answer.text)")
    let group = try place.call("GET", "/v1/groups/g", nil, [("Prefer", Patience.preference)]).json
    #expect(group["state"]?.string == "completed", "\(group)")
    let download = try place.call("GET", "/v1/tasks/\(task)").json["downloadTaskId"]?.string ?? ""
    #expect(try place.call("GET", "/v1/tasks/\(download)").json["group"]?.string == "g")
    #expect(counts(group) == [0, 0, 1, 0, 0], "both are one task of the group: \(group)")
    #expect(group["countOfBytesReceived"]?.integer == 5)
    #expect(try ends("g").count == 1)
  }

  @Test func `groups are listed in pages`() throws {
    for name in ["c", "a", "b:x"] { _ = try create(name) }
    for (order, names) in [("oldest", ["c", "a", "b:x"]), ("newest", ["b:x", "a", "c"])] {
      var (found, cursor): ([String?], String?) = ([], "")
      while let place = cursor {
        let query = "?limit=1&order=\(order)\(place.isEmpty ? "" : "&cursor=\(place)")"
        let reply = try self.place.call("GET", "/v1/groups\(query)").json
        found += try #require(reply["items"]?.elements).map { $0["name"]?.string }
        cursor = reply["nextCursor"]?.string
      }
      #expect(found == names)
    }
  }

  @Test func `unknown group and wrong parameters are refused`() throws {
    for (method, path) in [
      ("GET", ""), ("POST", "/close"), ("POST", "/cancel"), ("POST", "/suspend"), ("POST", "/resume"),
    ] {
      #expect(try place.call(method, "/v1/groups/none\(path)").status == 404)
      #expect(try place.call(method, "/v1/groups/none\(path)?x=1").status == 400)
    }
    #expect(try place.call("GET", "/v1/groups/none", nil, [("Prefer", Patience.preference)]).status == 404)
    for query in ["cursor=x", "cursor=eA", "limit=0", "order=x"] {
      #expect(try place.call("GET", "/v1/groups?\(query)").status == 400)
    }
  }
}
