import JSON
import TestSupport
import Testing

/// Evicted tasks, which look like other tasks to clients.
@Suite(.serialized, .blocking, .sharing) struct EvictedTaskTests {
  private static let long = String(repeating: "x", count: 20_000)
  private let place: InProcessAPI
  private let session: String
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array("\(request["X-Long"]?.utf8.count ?? 0)".utf8)))
    return true
  }

  init() throws {
    place = try .ofSuite()
    session = try place.session()
  }

  private func create(_ members: String = "") throws -> String {
    let request = #"{"url":"\#(origin.url)/x","headers":{"X-Long":"\#(Self.long)"}}"#
    let reply = try place.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"data","description":"\#(Self.long)","request":\#(request)\#(members)}"#)
    #expect(reply.status == 201)
    return reply.json.id
  }

  private func tasks() throws -> [JSONValue] {
    try place.call("GET", "/v1/sessions/\(session)/tasks").json["items"]?.elements ?? []
  }

  private func expectWhole(
    _ task: JSONValue, _ state: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(task["state"]?.string == state, sourceLocation: sourceLocation)
    #expect(task["description"]?.string == Self.long, sourceLocation: sourceLocation)
    #expect(
      task["originalRequest"]?["headers"]?["X-Long"]?.string == Self.long, sourceLocation: sourceLocation)
  }

  @Test func `evicted task is shown, changed and resumed`() throws {
    let id = try create()
    for _ in 0..<2 { expectWhole(try place.task(id), "suspended") }
    expectWhole(try #require(tasks().first), "suspended")
    for priority in ["0.25", "0.75"] {
      let reply = try place.call(
        "PATCH", "/v1/tasks/\(id)", #"{"priority":\#(priority)}"#,
        [("Content-Type", "application/merge-patch+json")])
      #expect(reply.status == 200)
      expectWhole(reply.json, "suspended")
      #expect(try place.task(id)["priority"]?.double.map { "\($0)" } == priority)
    }
    #expect(try place.call("POST", "/v1/tasks/\(id)/suspend").status == 200)
    #expect(try place.call("POST", "/v1/tasks/\(id)/resume").json["state"]?.string == "suspended")
    #expect(try place.call("POST", "/v1/tasks/\(id)/resume").json["state"]?.string == "running")
    let end = try place.end(of: id)
    expectWhole(end, "completed")
    #expect(try place.body(of: id) == Array("20000".utf8))
  }

  /// Concurrent commands for an evicted task are performed one after the other.
  @Test func `concurrent verbs find the evicted task`() async throws {
    let id = try create()
    let states = try await withThrowingTaskGroup(of: String?.self) { group in
      for number in 0..<20 {
        group.addTask { [place] in
          try place.call("POST", "/v1/tasks/\(id)/\(number == 10 ? "cancel" : "suspend")").json["state"]?
            .string
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(states.count == 20 && states.allSatisfy { $0 != nil })
    #expect(try place.end(of: id).errorCode == -999)
  }

  @Test func `evicted task waits for its begin date`() throws {
    let later = try create(#","resume":true,"earliestBeginDate":"2099-01-01T00:00:00Z""#)
    for _ in 0..<2 { expectWhole(try place.task(later), "running") }
    #expect(try place.task(later)["phase"]?.string == "queued")
    #expect(try tasks().first?["phase"]?.string == "queued")
    let reply = try place.call(
      "PATCH", "/v1/tasks/\(later)", #"{"earliestBeginDate":null}"#,
      [("Content-Type", "application/merge-patch+json")])
    #expect(reply.status == 200)
    expectWhole(try place.end(of: later), "completed")
  }

  @Test func `cancelled session cancels its evicted tasks`() throws {
    let ids = try (0..<20).map { _ in try create() }
    #expect(
      try place.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#).status == 202)
    for id in ids {
      let end = try place.end(of: id)
      expectWhole(end, "completed")
      #expect(end.errorCode == -999)
    }
    #expect(try place.call("GET", "/v1/sessions/\(session)").json["state"]?.string == "invalid")
    #expect(try place.call("DELETE", "/v1/sessions/\(session)").status == 204)
  }
}
