import JSON
import TestSupport
import Testing

/// The reason why a task has no body, as a client reads it.
@Suite(.serialized, .blocking, .sharing) struct BodyAbsenceTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    if request.path == "/cut" {
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
      return false
    }
    if request.path == "/silent" { return (try socket.readSome()) != nil }
    try socket.write(TestOrigin.reply("200 OK", Array("body".utf8)))
    return true
  }

  init() throws { place = try .ofSuite() }

  private func detail(of id: String, _ status: Int = 404) throws -> String? {
    let reply = try place.call("GET", "/v1/tasks/\(id)/body")
    #expect(reply.status == status)
    let type = status == 404 ? "/problems/body-not-found" : "/problems/body-not-ready"
    #expect(reply.json["type"]?.string == type)
    return reply.json["detail"]?.string
  }

  @Test func `failed task names its error`() throws {
    let id = try place.run(origin.url + "/cut").id
    #expect(try detail(of: id) == "the task failed: networkConnectionLost")
  }

  @Test func `unfinished task names its state`() throws {
    let id = try place.create(origin.url + "/silent", kind: "download", resume: false)
    #expect(
      try detail(of: id, 409)
        == "the task is suspended, and has no body yet; read the body when the task has ended")
    _ = try place.act("resume", id)
    #expect(
      try detail(of: id, 409)
        == "the task is running, and has no body yet; read the body when the task has ended")
    _ = try place.act("cancel", id)
    _ = try place.end(of: id)
    #expect(try detail(of: id) == "the task was cancelled")
  }

  @Test(arguments: [false, true]) func `deleted body is reported as deleted`(_ isMoved: Bool) throws {
    let id = try place.run(origin.url + "/").id
    if isMoved {
      #expect(try place.call("POST", "/v1/files", #"{"fromTask":"\#(id)"}"#).status == 201)
    } else {
      #expect(try place.call("DELETE", "/v1/tasks/\(id)/body").status == 204)
    }
    #expect(try detail(of: id) == "the body was deleted, or moved to a file")
    let again = try place.call("POST", "/v1/files", #"{"fromTask":"\#(id)"}"#)
    #expect(again.json["detail"]?.string == "the body was deleted, or moved to a file")
  }

  @Test func arrayOfTasksIsRefusedWithAHintAtBatches() throws {
    for path in ["/v1/tasks", "/v1/sessions/ses_shared/tasks"] {
      for body in ["[]", #"[{"kind":"data","request":{"url":"\#(origin.url)/"}}]"#] {
        let reply = try place.call("POST", path, body)
        #expect(reply.status == 400 && reply.pointers == [""])
        let detail = reply.json["errors"]?.elements?.first?["detail"]?.string
        #expect(detail?.contains("application/x-ndjson, one task per line") == true)
      }
    }
    #expect(origin.requests.isEmpty)
  }
}
