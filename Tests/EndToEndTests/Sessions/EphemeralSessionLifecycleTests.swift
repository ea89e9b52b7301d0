import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// The data of an `ephemeral` session exist as long as the session, and count towards the memory limit.
@Suite(.serialized, .blocking) struct EphemeralSessionLifecycleTests {
  private let origin = TestOrigin { request, socket in
    let count = Int(request.path.split(separator: "/").first ?? "") ?? 0
    let fields = [("Set-Cookie", "a=1; Path=/"), ("Cache-Control", "max-age=3600")]
    try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(count), fields))
    return true
  }

  private func session(
    _ ferry: FerryProcess, type: String = "ephemeral", _ rest: String = ""
  ) throws -> String {
    let session = try ferry.call("POST", "/v1/sessions", #"{"type":"\#(type)"\#(rest)}"#).json.id
    try #require(!session.isEmpty)
    return session
  }

  private func body(_ ferry: FerryProcess, _ task: String) throws -> HTTPReply {
    try ferry.call("GET", "/v1/tasks/\(task)/body")
  }

  @Test func `data of an ephemeral session are deleted with it`() throws {
    let ferry = try FerryProcess()
    let session = try session(ferry)
    let path = "/v1/sessions/\(session)"
    let space = #"{"host":"a.test"}"#
    let credential = #"{"user":"u","password":"p","persistence":"permanent"}"#
    _ = try ferry.call(
      "PUT", path + "/credentials", #"{"protectionSpace":\#(space),"credential":\#(credential)}"#)
    let tasks = try [100, 1_000_000].flatMap { size in
      try ["data", "download"].map { kind in
        try ferry.run(origin.url + "/\(size)/\(kind)", kind: kind, session: session)
      }
    }
    for task in tasks {
      #expect(try body(ferry, task.id).body.count == Int(task["body"]?["size"]?.integer ?? 0))
    }
    #expect(try ferry.cookies(of: session) == ["a=1"])
    #expect(try ferry.call("GET", path + "/cache").json["countOfEntries"]?.integer == 1)
    _ = try ferry.call("POST", path + "/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(try ferry.call("GET", path).json["state"]?.string == "invalid")
    for task in tasks {
      #expect(try body(ferry, task.id).status == 404, "\(task["kind"]?.string ?? "")")
      #expect(try ferry.call("POST", "/v1/files", #"{"fromTask":"\#(task.id)"}"#).status == 404)
    }
    #expect(try ferry.cookies(of: session) == [])
    #expect(try ferry.call("GET", path + "/credentials").json["items"]?.elements == [])
    let cache = try ferry.call("GET", path + "/cache").json
    #expect(cache["countOfEntries"]?.integer == 0 && cache["currentMemoryUsage"]?.integer == 0)
    #expect(try ferry.call("DELETE", path).status == 204)
    #expect(try ferry.call("GET", path).status == 404)
    #expect(try ferry.call("GET", "/v1/tasks/\(tasks[0].id)").status == 404)
  }

  /// After the session's end, the repeat is refused with 409. After the deletion, the reply is 404.
  @Test func `repeated request does not restore a deleted body`() throws {
    let ferry = try FerryProcess()
    let session = try session(ferry)
    let path = "/v1/sessions/\(session)/tasks?include=body"
    let body = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/100"}}"#
    let fields = [("Prefer", Patience.preference), ("Idempotency-Key", "k")]
    let first = try ferry.call("POST", path, body, fields)
    #expect(first.json["body"]?["base64"]?.string != nil)
    let again = try ferry.call("POST", path, body, fields)
    #expect(again.json.id == first.json.id)
    _ = try ferry.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(try ferry.call("POST", path, body, fields).status == 409)
    #expect(try ferry.call("DELETE", "/v1/sessions/\(session)").status == 204)
    #expect(try ferry.call("POST", path, body, fields).status == 404)
  }

  /// Returns all events after a number, up to the end of the task.
  private func events(_ ferry: FerryProcess, after: Int64, upTo task: String) throws -> [EventReader.Event] {
    let reader = try ferry.events("/v1/events?after=\(after)&progress=false")
    var events: [EventReader.Event] = []
    while let event = try reader.next() {
      events.append(event)
      if event.type == "task.didComplete", event.task == task { break }
    }
    return events
  }

  @Test func `session ends with the service and event numbers keep growing`() throws {
    let directory = TemporaryDirectory.make("ferry-ephemeral")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var last: Int64 = 0
    for _ in 0..<3 {
      let ferry = try FerryProcess(directory: directory)
      let session = try session(ferry)
      let running = try ferry.create(origin.url + "/10", session: session, resume: false)
      let task = try ferry.run(origin.url + "/10", session: session)
      let events = try events(ferry, after: last, upTo: task.id)
      let numbers = events.compactMap(\.id)
      #expect(numbers.first.map { $0 > last } ?? false && numbers == numbers.sorted())
      #expect(Set(numbers).count == numbers.count && numbers.count == events.count)
      #expect(events.allSatisfy { $0.json["sessionId"]?.string == session }, "no events of earlier sessions")
      last = numbers.last ?? .max
      ferry.kill()
      let next = try FerryProcess(directory: directory)
      for path in [
        "sessions/\(session)", "tasks/\(task.id)", "tasks/\(running)", "sessions/\(session)/cookies",
      ] {
        #expect(try next.call("GET", "/v1/\(path)").status == 404, "\(path)")
      }
      #expect(try next.call("GET", "/v1/sessions?type=ephemeral").json["items"]?.elements == [])
      next.kill()
    }
  }

  @Test func `cookies, credentials and cache count towards the limit`() throws {
    let ferry = try FerryProcess(options: ["--maximum-ephemeral-bytes", "1000000"])
    let configuration = #","configuration":{"urlCache":{"memoryCapacity":10000000,"diskCapacity":0}}"#
    let session = try session(ferry, configuration)
    let path = "/v1/sessions/\(session)"
    let value = String(repeating: "v", count: 4000)
    func cookies(_ count: Int) -> String {
      let items = (0..<count).map { #"{"name":"n\#($0)","value":"\#(value)","domain":"d\#($0 / 100).test"}"# }
      return #"{"items":[\#(items.joined(separator: ","))]}"#
    }
    let refused = try ferry.call("PUT", path + "/cookies", cookies(300))
    #expect(refused.status == 507 && refused["Retry-After"] != nil)
    #expect(try ferry.cookies(of: session) == [], "no cookie of the refused request is stored")
    #expect(try ferry.call("PUT", path + "/cookies", cookies(200)).status == 200)
    // The rest of the budget is too small for all credentials, and for a cached response.
    let password = String(repeating: "p", count: 16_000)
    let statuses = try (0..<20).map { number in
      try ferry.call(
        "PUT", path + "/credentials",
        #"{"protectionSpace":{"host":"h\#(number).test"},"credential":{"user":"u","password":"\#(password)"}}"#
      ).status
    }
    #expect(statuses == statuses.sorted() && Set(statuses) == [200, 507], "\(statuses)")
    #expect(try ferry.run(origin.url + "/30000", kind: "data", session: session)["error"] != .null)
    #expect(try ferry.call("GET", path + "/cache").json["countOfEntries"]?.integer == 0)
    // All memory is released.
    #expect(try ferry.call("DELETE", path + "/cookies").status == 204)
    #expect(try ferry.call("DELETE", path + "/credentials").status == 204)
    #expect(try ferry.run(origin.url + "/400000", kind: "data", session: session)["error"] == .null)
    // A body of this size is stored after its task has ended.
    let usage = try ferry.poll(path + "/cache") { $0["countOfEntries"]?.integer == 1 }
    #expect(usage["countOfEntries"]?.integer == 1 && usage["currentMemoryUsage"]?.integer ?? 0 >= 400_000)
    // The cache and the task both hold the body, and rows count too, so more cookies do not fit.
    #expect(try ferry.call("PUT", path + "/cookies", cookies(100)).status == 507)
    #expect(try ferry.call("DELETE", path + "/cache").status == 204)
    #expect(try ferry.call("PUT", path + "/cookies", cookies(100)).status == 200)
    _ = try ferry.call("POST", path + "/invalidate", #"{"mode":"cancelTasks"}"#)
    let next = try self.session(ferry, #","configuration":{"urlCache":null}"#)
    #expect(try ferry.run(origin.url + "/990000", session: next)["error"] == .null)
  }

  @Test func `bodies of all ephemeral sessions share a limit`() throws {
    let ferry = try FerryProcess(options: ["--maximum-ephemeral-bytes", "1000000"])
    let none = #","configuration":{"urlCache":null,"httpCookieAcceptPolicy":"never"}"#
    let (one, other) = (try session(ferry, none), try session(ferry, none))
    func expectFull(_ task: JSONValue) {
      let error = task["error"]
      #expect(error?["domain"]?.string == "FerryErrorDomain" && error?["code"]?.integer == 2)
      #expect(error?["name"]?.string == "quotaExceeded" && task["body"] == .null)
    }
    for kind in ["data", "download"] {
      expectFull(try ferry.run(origin.url + "/1000001", kind: kind, session: one))
      let all = try ferry.run(origin.url + "/1000000", kind: kind, session: one)
      #expect(all["error"] == .null && all["body"]?["size"]?.integer == 1_000_000)
      expectFull(try ferry.run(origin.url + "/1", kind: kind, session: other))
      let text = #"{"kind":"upload","request":{"url":"\#(origin.url)","body":{"text":"x"}}}"#
      let refused = try ferry.call("POST", "/v1/sessions/\(other)/tasks", text)
      #expect(refused.status == 507 && refused["Retry-After"] != nil)
      #expect(
        try ferry.run(origin.url + "/1000001", kind: kind)["error"] == .null,
        "durable sessions still have room")
      #expect(try ferry.call("DELETE", "/v1/tasks/\(all.id)/body").status == 204)
    }
    // Small bodies count as well, and the end of a session releases its memory.
    for _ in 0..<31 { #expect(try ferry.run(origin.url + "/32000", session: one)["error"] == .null) }
    expectFull(try ferry.run(origin.url + "/32000", session: other))
    _ = try ferry.call("POST", "/v1/sessions/\(one)/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(try ferry.run(origin.url + "/1000000", session: other)["error"] == .null)
    _ = try ferry.call("POST", "/v1/sessions/\(other)/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(try ferry.call("DELETE", "/v1/sessions/\(other)").status == 204)
    #expect(try ferry.run(origin.url + "/1000000", session: session(ferry, none))["error"] == .null)
  }

  /// Configurations, tasks and their events count like bodies.
  @Test(arguments: [true, false]) func `rows count towards the memory limit`(_ areSessions: Bool) throws {
    let ferry = try FerryProcess(options: ["--maximum-ephemeral-bytes", "2000000"])
    let first = try session(ferry, "")
    let long = String(repeating: "x", count: 50_000)
    let path = areSessions ? "/v1/sessions" : "/v1/sessions/\(first)/tasks"
    let body =
      areSessions
      ? #"{"type":"ephemeral","description":"\#(long)"}"#
      : #"{"kind":"data","description":"\#(long)","request":{"url":"\#(origin.url)"}}"#
    var (created, reply, last) = (0, try ferry.call("POST", path, body), first)
    while reply.status == 201, created < 1000 {
      created += 1
      if areSessions { last = reply.json.id }
      reply = try ferry.call("POST", path, body)
    }
    #expect(reply.status == 507 && created > 30 && created < 200, "\(created) \(reply.status)")
    let durable = areSessions ? body.replacing("ephemeral", with: "default") : body
    let other = areSessions ? path : "/v1/tasks"
    #expect(try ferry.call("POST", other, durable).status == 201, "durable sessions still have room")
    // The end of a session releases its memory.
    let end = try ferry.call("POST", "/v1/sessions/\(last)/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(end.status == 202)
    #expect(
      try ferry.call("POST", "/v1/sessions", #"{"type":"ephemeral","description":"\#(long)"}"#).status == 201)
  }

  /// Only the batch line that exceeds the limit is refused.
  @Test func `other lines of a batch are accepted`() throws {
    let ferry = try FerryProcess(options: ["--maximum-ephemeral-bytes", "1000"])
    let small = #"{"kind":"data","request":{"url":"\#(origin.url)"}}"#
    let large =
      #"{"kind":"upload","request":{"url":"\#(origin.url)","body":{"text":"\#(String(repeating: "x", count: 2000))"}}}"#
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(session(ferry))/tasks", [small, large, small].joined(separator: "\n"),
      [("Content-Type", "application/x-ndjson")])
    let lines = try reply.text.split(separator: "\n").map { try JSONParser.parse(Array($0.utf8)) }
    #expect(lines.map { $0["state"]?.string } == ["suspended", nil, "suspended"])
    #expect(lines[1]["status"]?.integer == 507 && lines[1]["line"]?.integer == 2)
  }

  @Test func `one stream has the events of both kinds of sessions`() throws {
    let ferry = try FerryProcess()
    let sessions = [try session(ferry), try ferry.session(#"{"urlCache":null}"#)]
    let line = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/100"}}"# + "\n"
    let live = try ferry.events("/v1/events?progress=false")
    var tasks: Set<String> = []
    for round in 0..<8 {
      let reply = try ferry.call(
        "POST", "/v1/sessions/\(sessions[round % 2])/tasks", String(repeating: line, count: 50),
        [("Content-Type", "application/x-ndjson")])
      tasks.formUnion(reply.lines.map(\.id))
    }
    #expect(tasks.count == 400)
    func read(_ reader: EventReader) throws -> [EventReader.Event] {
      var (events, open) = ([EventReader.Event](), tasks)
      while !open.isEmpty, let event = try reader.next() {
        events.append(event)
        if event.type == "task.didComplete", let task = event.task { open.remove(task) }
      }
      return events
    }
    let heard = try read(live)
    let replayed = try read(ferry.events("/v1/events?after=0&progress=false"))
    for events in [heard, replayed] {
      let numbers = events.compactMap(\.id)
      #expect(numbers.count == events.count && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    }
    #expect(replayed.suffix(heard.count).map(\.id) == heard.map(\.id))
    for session in sessions {
      let own = try ferry.events("/v1/sessions/\(session)/events?after=0&progress=false")
      let wanted = replayed.filter { $0.json["sessionId"]?.string == session }
      #expect(wanted.count > 200)
      for event in wanted { #expect(try own.next()?.id == event.id) }
    }
    // Each task has all of its events, once and in order.
    for (task, story) in Dictionary(grouping: replayed.filter { $0.task != nil }, by: { $0.task ?? "" }) {
      let types = story.map(\.type)
      #expect(tasks.contains(task) && types.first == "task.didCreate" && types.last == "task.didComplete")
      #expect(types.filter { $0 == "dataTask.didReceiveResponse" }.count == 1)
    }
    let middle = try #require(replayed[replayed.count / 2].id)
    let rest = try ferry.events("/v1/events?after=\(middle)&progress=false")
    for event in replayed where (event.id ?? 0) > middle { #expect(try rest.next()?.id == event.id) }
  }

  @Test func `ephemeral session is read like others`() throws {
    let ferry = try FerryProcess()
    let session = try session(ferry, #","delegate":{"responses":"ask"}"#)
    let path = "/v1/sessions/\(session)"
    let ids = try (0..<5).map { number in
      try ferry.create(
        origin.url + "/\(number)", kind: number == 4 ? "data" : "download", session: session, resume: false)
    }
    var (found, target): ([String], String?) = ([], path + "/tasks?limit=2&kind=download")
    while let page = target {
      let reply = try ferry.call("GET", page)
      found += reply.json["items"]?.elements?.map(\.id) ?? []
      target = reply["Link"].map { String($0.dropFirst().prefix { $0 != ">" }) }
    }
    #expect(found == Array(ids.prefix(4)))
    #expect(try ferry.task(ids[0])["taskIdentifier"]?.integer == 1)
    #expect(
      try ferry.call("GET", "/v1/sessions?type=ephemeral").json["items"]?.elements?.map(\.id) == [session])
    _ = try ferry.act("resume", ids[4])
    let question = try ferry.decisionEvent(of: ids[4], "dataTask.didReceiveResponse")
    let waiting = try ferry.call("GET", path + "/decisions?state=pending").json["items"]?.elements
    #expect(waiting?.map(\.id) == [question.decision])
    try ferry.answer(question.decision, #"{"disposition":"allow"}"#)
    #expect(try ferry.end(of: ids[4])["body"]?["size"]?.integer == 4)
    #expect(try ferry.metrics(of: ids[4])["transactionMetrics"]?.elements?.count == 1)
    #expect(try ferry.decision(question.decision)["state"]?.string == "answered")
    #expect(try ferry.call("GET", "/v1/tasks/\(ids[4])/body", nil, [("Range", "bytes=1-2")]).status == 206)
    _ = try ferry.call("POST", path + "/invalidate", #"{"mode":"cancelTasks"}"#)
    let story = try ferry.events(path + "/events?after=0").read(upTo: "session.didBecomeInvalid")
    #expect(Set(story.filter { $0.type == "task.didComplete" }.compactMap(\.task)) == Set(ids))
    for (method, place, body) in [
      ("PUT", "cookies", #"{"name":"a","value":"1","domain":"a.test"}"#),
      ("POST", "tasks", #"{"kind":"data","request":{"url":"\#(origin.url)"}}"#),
    ] { #expect(try ferry.call(method, "\(path)/\(place)", body).status == 409, "\(place)") }
  }

  @Test func `webhooks are delivered and files are kept`() throws {
    let directory = TemporaryDirectory.make("ferry-ephemeral")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var ferry = try FerryProcess(directory: directory)
    let hook = #"{"webhook":{"url":"\#(origin.url)/hook","events":["task.didComplete"]}}"#
    let session = try session(ferry, #","delegate":\#(hook)"#)
    var files: [(id: String, size: Int)] = []
    for size in [0, 100, 32_769, 3_000_000] {
      let task = try ferry.end(of: ferry.create(origin.url + "/\(size)", kind: "download", session: session))
      let file = try ferry.call("POST", "/v1/files", #"{"fromTask":"\#(task.id)"}"#)
      #expect(file.status == 201 && file.json["size"]?.integer == Int64(size))
      #expect(file.json["fromTask"]?.string == task.id)
      #expect(try body(ferry, task.id).status == 404, "the body was moved to the file")
      files.append((file.json.id, size))
    }
    Patience.wait { origin.requests.filter({ $0.path == "/hook" }).count < 4 }
    let hooks = origin.requests.filter { $0.path == "/hook" }
    #expect(hooks.count == 4 && Set(hooks.compactMap { $0["webhook-id"] }).count == 4)
    ferry.kill()
    ferry = try FerryProcess(directory: directory)
    for (id, size) in files {
      #expect(try ferry.call("GET", "/v1/files/\(id)").body == Pattern.bytes(size))
    }
    ferry.kill()
  }

  @Test func `many sessions leave no memory`() throws {
    let ferry = try FerryProcess()
    let gauge = ProcessUsage(ferry.processIdentifier)
    func live() throws {
      let session = try session(ferry)
      for kind in ["data", "download"] {
        #expect(
          try ferry.run(origin.url + "/2000000/\(kind)", kind: kind, session: session)["error"] == .null)
      }
      _ = try ferry.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
      #expect(try ferry.call("DELETE", "/v1/sessions/\(session)").status == 204)
    }
    for _ in 0..<10 { try live() }
    let before = try gauge.residentMemory()
    for _ in 0..<50 { try live() }
    #expect(try gauge.residentMemory() - before < 20_000, "growth in KiB, after 200,000 KiB of transfers")
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(ferry.processIdentifier)/fd")
    #expect(open.count < 100)
  }
}
