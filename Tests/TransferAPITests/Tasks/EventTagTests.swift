import JSON
import TestSupport
import Testing

/// Streams and pages of events that select a group or labels.
@Suite(.serialized, .blocking) struct EventTagTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK", Array("hello".utf8)))
    return true
  }

  init() throws { place = try InProcessAPI() }

  @discardableResult
  private func run(_ members: String, in session: String = "ses_shared") throws -> String {
    let body = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/"}\#(members)}"#
    let task = try place.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
    return try place.poll("/v1/tasks/\(task)") { $0["state"]?.string == "completed" }.id
  }

  private static let (g, h) = (
    #","group":"g","labels":{"a":"1","b":"2"}"#, #","group":"h","labels":{"a":"1"}"#
  )

  /// Returns the stored events, each as its type and task.
  private func page(_ query: String, of session: String? = nil) throws -> [String] {
    let path = session.map { "/v1/sessions/\($0)/events" } ?? "/v1/events"
    let reply = try place.call("GET", "\(path)?after=0&\(query)", nil, [("Accept", "application/json")])
    try #require(reply.status == 200, "\(reply.text)")
    return try #require(reply.json["items"]?.elements).map {
      "\($0["type"]?.string ?? "") \($0["taskId"]?.string ?? "")"
    }
  }

  @Test func `pages have the events of the selected tasks`() throws {
    let session = try place.session()
    let (first, second) = (try run(Self.g, in: session), try run(Self.h))
    let plain = try run("")
    _ = try place.call("POST", "/v1/groups/g/close")
    let all = try page("")
    func expected(_ tasks: [String]) -> [String] {
      all.filter { event in tasks.contains { event.hasSuffix($0) } }
    }
    #expect(!expected([first]).isEmpty && !expected([plain]).isEmpty)
    #expect(try page("group=g") == expected([first]) + ["group.didComplete "])
    #expect(try page("group=h") == expected([second]))
    #expect(try page("group=none").isEmpty)
    #expect(try page("label=a:1") == expected([first, second]))
    #expect(try page("label=a:1&label=b:2") == expected([first]))
    #expect(try page("label=a:1&group=h") == expected([second]))
    #expect(try page("label=a:2").isEmpty)
    #expect(
      try page("types=task.didComplete,group.didComplete&group=g").map { $0.hasPrefix("task.") } == [
        true, false,
      ])
    #expect(try page("group=g", of: session) == expected([first]))
    #expect(try page("group=h", of: session).isEmpty)
  }

  @Test func `live stream and replay have the same events`() throws {
    let live = try place.events("/v1/events?group=g&progress=false", [])
    try run(Self.h)
    let task = try run(Self.g)
    try run("")
    _ = try place.call("POST", "/v1/groups/g/close")
    let replay = try place.events("/v1/events?group=g&progress=false&after=0", [])
    for stream in [live, replay] {
      var found: [(String, String?)] = []
      while found.last?.0 != "group.didComplete" {
        let event = try #require(try stream.next())
        found.append((event.type, event.task))
      }
      #expect(found.first?.0 == "task.didCreate" && found.count > 3)
      #expect(found.dropLast().allSatisfy { $0.1 == task }, "\(found)")
    }
  }

  @Test func `bodies of other tasks are not sent inline`() throws {
    let stream = try place.events("/v1/events?label=b:2&data=inline", [])
    try run(Self.h)
    let task = try run(Self.g)
    var types: [String] = []
    while types.last != "task.didComplete" {
      let event = try #require(try stream.next())
      #expect(event.task == task)
      types.append(event.type)
    }
    #expect(types.contains("dataTask.didReceiveData"))
  }

  @Test func `long poll waits for an event of the group`() throws {
    let before = try place.call("GET", "/v1/events?group=g", nil, [("Accept", "application/json")]).json
    let after = try #require(before["nextAfter"]?.string)
    try run(Self.h)
    let query = "/v1/events?group=g&after=\(after)"
    let none = try place.call(
      "GET", query, nil, [("Accept", "application/json"), ("Prefer", "wait=0.05")])
    #expect(none.json["items"]?.elements?.isEmpty == true)
    let task = try run(Self.g)
    let some = try place.call(
      "GET", query, nil, [("Accept", "application/json"), ("Prefer", Patience.preference)])
    #expect(some.json["items"]?.elements?.first?["taskId"]?.string == task)
  }

  @Test(arguments: ["group=", "label=a", "label=:1", "group=g&group=h", "labels=a:1"])
  func `wrong filter is refused`(_ query: String) throws {
    let session = try place.session()
    let name = String(query.prefix { $0 != "=" })
    for path in ["/v1/events", "/v1/sessions/\(session)/events"] {
      for accept in ["application/json", "text/event-stream"] {
        let reply = try place.call("GET", "\(path)?\(query)", nil, [("Accept", accept)])
        #expect(reply.status == 400)
        #expect(reply.json["errors"]?.elements?.first?["pointer"]?.string == "/\(name)", "\(reply.text)")
      }
    }
  }

  @Test func `events of one task have no such filter`() throws {
    let task = try run(Self.g)
    for query in ["group=g", "label=a:1"] {
      #expect(try place.call("GET", "/v1/tasks/\(task)/events?\(query)").status == 400)
    }
  }
}
