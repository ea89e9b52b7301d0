import Foundation
import JSON
import TestSupport
import Testing

/// cancelTask, cancelledTasksCannotBeResumed and noDoubleCallback: a cancelled task ends exactly once, with
/// `cancelled`, from every state.
@Suite(.serialized, .blocking, .sharing) struct CancellationTests {
  private let place: InProcessAPI
  private let session: String
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/silent": return try socket.readSome() != nil
    case "/half":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n")
      try socket.write([UInt8](repeating: 1, count: 500_000))
      return try socket.readSome() != nil
    case "/hop": try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/silent")]))
    default: try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
    }
    return true
  }

  init() throws {
    place = try .ofSuite()
    session = try place.session(#"{"httpMaximumConnectionsPerHost":1}"#)
  }

  /// The progress of a task at its cancellation. In some of these states the task uses the session's only connection.
  enum Place: String, CaseIterable, Sendable {
    case suspended, queued, suspendedInTheQueue, beforeTheHead, behindARedirect, withinTheBody,
      suspendedWithinTheBody
  }

  /// Creates a task and brings it to this point.
  private func task(at point: Place, kind: String) throws -> String {
    func create(_ path: String, resume: Bool = true) throws -> String {
      try place.create(origin.url + path, kind: kind, session: session, resume: resume)
    }
    func wait(_ id: String, _ isThere: (JSONValue) -> Bool) throws -> String {
      #expect(isThere(try place.poll("/v1/tasks/\(id)", until: isThere)), "\(point)")
      return id
    }
    switch point {
    case .suspended: return try create("/ok", resume: false)
    case .queued, .suspendedInTheQueue:
      let holder = try create("/silent")
      _ = try wait(holder) { _ in origin.requests.last?.path == "/silent" }
      let id = try wait(create("/ok")) { $0["phase"]?.string == "queued" }
      if point == .suspendedInTheQueue { #expect(try place.act("suspend", id) == "suspended") }
      return id
    case .beforeTheHead: return try wait(create("/silent")) { _ in origin.requests.last?.path == "/silent" }
    case .behindARedirect:
      return try wait(create("/hop")) { task in
        origin.requests.last?.path == "/silent"
          && task["currentRequest"]?["url"]?.string?.hasSuffix("/silent") == true
      }
    case .withinTheBody, .suspendedWithinTheBody:
      let id = try wait(create("/half")) { $0["progress"]?["countOfBytesReceived"]?.integer == 500_000 }
      if point == .suspendedWithinTheBody { #expect(try place.act("suspend", id) == "suspended") }
      return id
    }
  }

  private func bodies() throws -> Int {
    try FileManager.default.subpathsOfDirectory(atPath: place.directory).filter { $0.contains("tsk_") }.count
  }

  @Test(arguments: Place.allCases, ["data", "download"])
  func `task can be cancelled at every point`(_ point: Place, _ kind: String) throws {
    let id = try task(at: point, kind: kind)
    let requests = origin.requests.count
    let reply = try place.call("POST", "/v1/tasks/\(id)/cancel")
    #expect(reply.status == 200 && reply.json["state"]?.string == "canceling")
    let story = try place.story(of: id)
    #expect(
      Array(story.map(\.type).suffix(3)) == [
        "task.didChangeState", "task.didFinishCollectingMetrics", "task.didComplete",
      ])
    let task = try place.task(id)
    #expect(task["state"]?.string == "completed" && task["body"] == .null)
    #expect(task["error"]?["domain"]?.string == "NSURLErrorDomain" && task.errorCode == -999)
    #expect(task["error"]?["name"]?.string == "cancelled")
    #expect(task["error"]?["failingURL"]?.string == task["currentRequest"]?["url"]?.string)
    #expect(try place.call("GET", "/v1/tasks/\(id)/body").status == 404)
    try nothingFollows(id, story)
    // The connection slot is free, and no file of the task is left.
    if point != .queued, point != .suspendedInTheQueue {
      #expect(try place.run(origin.url + "/ok", session: session)["error"] == .null)
      #expect(try bodies() == 0)
    }
    #expect(origin.requests.dropFirst(requests).allSatisfy { $0.path == "/ok" })
  }

  /// Checks that the end is final: commands have no effect, and no event follows.
  private func nothingFollows(_ id: String, _ story: [EventReader.Event]) throws {
    for verb in ["resume", "cancel", "suspend", "resume"] { #expect(try place.act(verb, id) == "completed") }
    let marker = try place.create(origin.url + "/ok", session: "ses_shared", resume: false)
    let all = try place.events("/v1/events?after=0")
    var types: [String] = []
    while let event = try all.next(), event.task != marker {
      if event.task == id { types.append(event.type) }
    }
    #expect(types == story.map(\.type))
  }

  @Test func `cancelled task cannot be resumed`() throws {
    let id = try place.create(origin.url + "/silent")
    _ = try place.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "transferring" }
    _ = try place.act("cancel", id)
    for _ in 0..<3 { #expect(["canceling", "completed"].contains(try place.act("resume", id) ?? "")) }
    #expect(try place.end(of: id).errorCode == -999)
    #expect(origin.requests.count == 1)
  }

  @Test func `finished task cannot be cancelled`() throws {
    let done = try place.run(origin.url + "/ok")
    #expect(try place.act("cancel", done.id) == "completed")
    let task = try place.task(done.id)
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == 2)
  }

  /// invalidateAndCancel: error code -999 with the failing URL.
  @Test func `cancelled session cancels its tasks`() throws {
    // The second task may start when the first is cancelled, and has to end as cancelled nevertheless.
    let ids = try [true, true, false].map {
      try place.create(origin.url + "/silent", kind: "download", session: session, resume: $0)
    }
    let path = "/v1/sessions/\(session)"
    #expect(try place.call("POST", path + "/invalidate", #"{"mode":"cancelTasks"}"#).status == 202)
    let events = try place.events(path + "/events?after=0").read(upTo: "session.didBecomeInvalid")
    let ends = events.filter { $0.type == "task.didComplete" }
    #expect(Set(ends.compactMap(\.task)) == Set(ids))
    #expect(ends.allSatisfy { $0.data["error"]?["code"]?.integer == -999 })
    #expect(ends.allSatisfy { $0.data["error"]?["failingURL"]?.string?.hasPrefix(origin.url) == true })
  }
}
