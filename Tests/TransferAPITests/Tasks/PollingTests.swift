import JSON
import TestSupport
import Testing

/// Clients that poll: reads that wait for the end of a task, and pages of events.
@Suite(.serialized, .blocking, .sharing) struct PollingTests {
  private let place: InProcessAPI
  private let gate: Gate
  private let origin: TestOrigin

  init() throws {
    place = try .ofSuite()
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin { request, socket in
      if request.path == "/gate" { gate.wait() }
      try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
      return true
    }
  }

  private func create(_ members: String = "", _ fields: [(String, String)] = []) throws -> HTTPReply {
    let body = #"{"kind":"data","request":{"url":"\#(origin.url)/gate"}\#(members)}"#
    return try place.call("POST", "/v1/tasks", body, fields)
  }

  @Test func `creation without resume gets a hint at once`() throws {
    let reply = try create("", [("Prefer", Patience.preference), ("Idempotency-Key", "hint")])
    #expect(reply.status == 202 && reply.json["hint"]?.string == "the task is suspended")
    #expect(reply["Location"] == "/v1/tasks/\(reply.json.id)" && reply["Preference-Applied"] == nil)
    let again = try create("", [("Prefer", Patience.preference), ("Idempotency-Key", "hint")])
    #expect(again.status == 202 && again.json == reply.json)
    let read = try place.call("GET", "/v1/tasks/\(reply.json.id)")
    #expect(read.json["hint"] == nil && read["ETag"] == reply["ETag"])
    _ = try place.act("cancel", reply.json.id)
  }

  @Test func `read waits for the end`() throws {
    let task = try create(#","resume":true"#).json.id
    let running = try place.call("GET", "/v1/tasks/\(task)", nil, [("Prefer", "wait=0.05")])
    #expect(running.status == 200 && running.json["state"]?.string == "running")
    #expect(running["Preference-Applied"] == "wait=1" && running.json["hint"] == nil)
    gate.open()
    let ended = try place.call(
      "GET", "/v1/tasks/\(task)?include=body", nil, [("Prefer", Patience.preference)])
    #expect(ended.json["outcome"]?.string == "succeeded" && ended.json["body"]?["text"]?.string == "/gate")
    let again = try place.call("GET", "/v1/tasks/\(task)", nil, [("Prefer", Patience.preference)])
    #expect(again.json["state"]?.string == "completed" && again["Preference-Applied"] == Patience.preference)
  }

  @Test func `read of a suspended task has a hint after its wait`() throws {
    let task = try create().json.id
    let reply = try place.call("GET", "/v1/tasks/\(task)", nil, [("Prefer", "wait=0.05")])
    #expect(reply.status == 200 && reply.json["hint"]?.string == "the task is suspended")
    #expect(try place.call("GET", "/v1/tasks/\(task)")["ETag"] == reply["ETag"])
    _ = try place.act("cancel", task)
  }

  @Test func `resume waits for the end`() throws {
    let tasks = [try create().json.id, try create().json.id]
    let running = try place.call("POST", "/v1/tasks/\(tasks[0])/resume", nil, [("Prefer", "wait=0.05")])
    #expect(running.status == 200 && running.json["state"]?.string == "running")
    gate.openForGood()
    let ended = try place.call("POST", "/v1/tasks/\(tasks[1])/resume", nil, [("Prefer", Patience.preference)])
    #expect(ended.status == 200 && ended.json["outcome"]?.string == "succeeded")
    #expect(ended["Preference-Applied"] == Patience.preference)
  }

  private static let accept = [("Accept", "application/json")]

  private func page(_ path: String, _ query: String, wait: String? = nil) throws -> HTTPReply {
    let fields = Self.accept + (wait.map { [("Prefer", "wait=\($0)")] } ?? [])
    let reply = try place.call("GET", "\(path)/events\(query)", nil, fields)
    try #require(reply.status == 200 && reply["Content-Type"] == "application/json", "\(reply.text)")
    return reply
  }

  @Test func `pages have the events of the stream`() throws {
    let session = try place.session()
    let task = try place.run(origin.url + "/x", session: session).id
    for path in ["/v1/tasks/\(task)", "/v1/sessions/\(session)"] {
      let streamed = try place.events("\(path)/events?after=0&progress=false").read(upTo: "task.didComplete")
      var (found, after): ([JSONValue], String) = ([], "0")
      while true {
        let reply = try page(path, "?after=\(after)&limit=2").json
        let items = try #require(reply["items"]?.elements)
        after = try #require(reply["nextAfter"]?.string)
        if items.isEmpty { break }
        #expect(items.count <= 2)
        found += items
      }
      #expect(found == streamed.map(\.json))
      let ends = try page(path, "?after=0&types=task.didComplete").json["items"]?.elements
      #expect(ends == [try #require(streamed.last).json])
    }
    let all = try page("/v1", "?after=0&types=task.didComplete&limit=500").json["items"]?.elements ?? []
    #expect(all.contains { $0["taskId"]?.string == task })
  }

  @Test func `empty page waits for the first event`() throws {
    let task = try create().json.id
    let path = "/v1/tasks/\(task)"
    let start = try page(path, "").json
    #expect(start["items"]?.elements?.isEmpty == true)
    let after = try #require(start["nextAfter"]?.string)
    let silent = try page(path, "?after=\(after)", wait: "0.05")
    #expect(silent.json["items"]?.elements?.isEmpty == true && silent["Preference-Applied"] == "wait=1")
    let unwanted = try page(path, "?after=\(after)&types=task.didComplete", wait: "0.05").json
    #expect(unwanted["items"]?.elements?.isEmpty == true)
    _ = try place.act("cancel", task)
    let ended = try page(path, "?after=\(after)&types=task.didComplete", wait: "60").json
    #expect(ended["items"]?.elements?.map { $0["type"]?.string } == ["task.didComplete"])
    #expect(Int64(ended["nextAfter"]?.string ?? "") ?? 0 > Int64(after) ?? .max)
  }

  @Test func `first event ends the wait of a page`() throws {
    let body = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/gate","timeoutInterval":0.3}}"#
    let task = try place.call("POST", "/v1/tasks", body).json.id
    let start = ContinuousClock.now
    let ended = try page("/v1/tasks/\(task)", "?after=0&types=task.didComplete", wait: "60").json
    #expect(ended["items"]?.elements?.map { $0["type"]?.string } == ["task.didComplete"])
    #expect(ContinuousClock.now - start < .seconds(30))
    gate.openForGood()
  }

  @Test func `cursor beyond the journal resets the page`() throws {
    let page = try page("/v1", "?after=999999999999&limit=1").json
    #expect(page["items"]?.elements?.first?["type"]?.string == "events.didReset")
    #expect(page["items"]?.elements?.first?["id"] == .null)
  }

  @Test(
    arguments: [
      ("after=x", "application/json", "/after"), ("limit=0", "application/json", "/limit"),
      ("limit=501", "application/json", "/limit"), ("types=x", "application/json", "/types"),
      ("data=inline", "application/json", "/data"), ("what=1", "application/json", "/what"),
      ("limit=5", "text/event-stream", "/limit"),
    ])
  func `wrong parameter of a page is named`(_ query: String, _ accept: String, _ pointer: String) throws {
    let reply = try place.call("GET", "/v1/events?\(query)", nil, [("Accept", accept)])
    #expect(reply.status == 400 && reply.json["errors"]?.elements?.first?["pointer"]?.string == pointer)
  }
}
