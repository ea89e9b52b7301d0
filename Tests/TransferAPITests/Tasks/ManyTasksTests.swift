import Foundation
import JSON
import TestSupport
import Testing
import TransferModel

@testable import TransferAPI

/// Commands for many tasks, and the deletion of tasks.
@Suite(.serialized, .blocking) struct ManyTasksTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/silent": return try socket.readSome() != nil
    case "/large": try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(100_000)))
    default: try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    }
    return true
  }

  init() throws { place = try InProcessAPI() }

  private func create(_ members: String = "", in session: String = "ses_shared") throws -> String {
    let body = #"{"kind":"data","request":{"url":"\#(origin.url)/silent"}\#(members)}"#
    return try place.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
  }

  private func state(_ task: String) throws -> String {
    try place.call("GET", "/v1/tasks/\(task)").json["state"]?.string ?? "none"
  }

  private func command(_ verb: String, _ body: String) throws -> [Int64] {
    let reply = try place.call("POST", "/v1/tasks/\(verb)", body)
    try #require(reply.status == 200, "\(reply.text)")
    return ["matched", "changed", "failed"].map { reply.json[$0]?.integer ?? -1 }
  }

  @Test func `commands change the selected tasks`() throws {
    let session = try place.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#).json.id
    let chosen = [try create(#","labels":{"a":"1"}"#), try create(#","labels":{"a":"1"}"#, in: session)]
    let other = try create()
    let filter = #""labels":{"a":"1"}"#
    #expect(try command("resume", "{\(filter),\"dryRun\":true}") == [2, 0, 0])
    #expect(try chosen.map(state) == ["suspended", "suspended"])
    #expect(try command("resume", "{\(filter)}") == [2, 2, 0])
    #expect(try chosen.map(state) == ["running", "running"] && state(other) == "suspended")
    #expect(try command("resume", "{\(filter)}") == [2, 0, 0])
    #expect(try command("suspend", "{\(filter),\"kind\":\"data\"}") == [2, 2, 0])
    #expect(try chosen.map(state) == ["suspended", "suspended"])
    #expect(try command("delete", "{\(filter)}") == [2, 0, 0])
    #expect(try command("cancel", "{\(filter)}") == [2, 2, 0])
    for task in chosen {
      _ = try place.poll("/v1/tasks/\(task)") { $0["state"]?.string == "completed" }
    }
    #expect(try command("delete", #"{"outcome":"cancelled"}"#) == [2, 2, 0])
    #expect(try chosen.map { try place.call("GET", "/v1/tasks/\($0)").status } == [404, 404])
    #expect(try command("cancel", #"{"all":true}"#) == [1, 1, 0])
  }

  @Test func `repeated retry gets the first reply`() throws {
    let failed = try (0..<3).map { _ in
      try place.call(
        "POST", "/v1/tasks",
        #"{"kind":"data","resume":true,"labels":{"a":"1"},"request":{"url":"http://10.0.0.1/"}}"#
      ).json.id
    }
    for task in failed { _ = try place.end(of: task) }
    let key = [("Idempotency-Key", "again")]
    func retry(_ body: String = #"{"labels":{"a":"1"}}"#) throws -> HTTPReply {
      try place.call("POST", "/v1/tasks/retry", body, key)
    }
    let first = try retry()
    #expect(first.json["changed"]?.integer == 3, "\(first.text)")
    #expect(try retry().text == first.text)
    #expect(try retry(#"{"all":true}"#).status == 422)
    let all = try #require(place.call("GET", "/v1/tasks").json["items"]?.elements)
    #expect(all.compactMap { $0["retryOf"]?.string }.sorted() == failed.sorted())
  }

  /// The service died after it retried some of the tasks, and before it stored the reply.
  @Test func `retry that was interrupted repeats no task`() throws {
    let failed = try (0..<2).map { _ in
      try place.call(
        "POST", "/v1/tasks",
        #"{"kind":"data","resume":true,"labels":{"a":"1"},"request":{"url":"http://10.0.0.1/"}}"#
      ).json.id
    }
    for task in failed { _ = try place.end(of: task) }
    let key = IdempotentRequest.key(
      of: failed[0], within: IdempotencyKey(tenant: .default, text: "again"))
    let done = try place.call("POST", "/v1/tasks/\(failed[0])/retry", nil, [("Idempotency-Key", key)])
    #expect(done.status == 201)
    _ = try place.end(of: done.json.id)
    let repeated = try place.call(
      "POST", "/v1/tasks/retry", #"{"id":"\#(failed[0])"}"#, [("Idempotency-Key", "again")])
    #expect(repeated.json["changed"]?.integer == 1)
    let all = try #require(place.call("GET", "/v1/tasks").json["items"]?.elements)
    #expect(all.compactMap { $0["retryOf"]?.string } == [failed[0]])
  }

  @Test func `group command gets the first reply`() throws {
    let task = try create(#","group":"g""#)
    let key = [("Idempotency-Key", "one")]
    for _ in 0..<2 {
      let reply = try place.call("POST", "/v1/groups/g/suspend", nil, key)
      #expect(reply.status == 200 && reply.json["changed"]?.integer == 1, "\(reply.text)")
    }
    // A second suspension would need a second resumption.
    #expect(try command("resume", #"{"group":"g"}"#) == [1, 1, 0])
    #expect(try command("resume", #"{"group":"g"}"#) == [1, 1, 0])
    #expect(try state(task) == "running")
    _ = try place.act("cancel", task)
  }

  /// A task has its id before its body is stored, and its row after that.
  @Test func `task whose row is later than the request is skipped`() throws {
    let session = try place.session()
    let first = try create(in: session)
    let later = try place.storeTask(in: session, createdAfter: 60)
    let last = try create(in: session)
    #expect(try command("cancel", #"{"all":true}"#) == [2, 2, 0])
    #expect(try state(later) == "suspended")
    for task in [first, last] { _ = try place.end(of: task) }
  }

  @Test func `many turns select all tasks`() throws {
    let line = #"{"kind":"data","group":"g","request":{"url":"http://a.test/"}}"#
    let batch = Array(repeating: line, count: 1203).joined(separator: "\n")
    #expect(
      try place.call("POST", "/v1/tasks", batch, [("Content-Type", "application/x-ndjson")]).status == 200)
    #expect(try command("cancel", #"{"group":"g"}"#) == [1203, 1203, 0])
    _ = try place.poll("/v1/tasks?state=canceling") { $0["items"]?.elements?.isEmpty == true }
    #expect(try command("delete", #"{"group":"g","urlPrefix":"http://a"}"#) == [1203, 1203, 0])
    #expect(try place.call("GET", "/v1/tasks?group=g").json["items"]?.elements?.isEmpty == true)
  }

  @Test(
    arguments: [
      ("", 422, ""), ("{}", 422, ""), (#"{"dryRun":true}"#, 422, ""), (#"{"all":false}"#, 422, ""),
      (#"{"all":true,"kind":"data"}"#, 400, "/all"), (#"{"kind":"x"}"#, 400, "/kind"),
      (#"{"group":""}"#, 400, "/group"), (#"{"id":"1"}"#, 400, "/id"), (#"{"what":1}"#, 400, "/what"),
      (#"{"since":"x"}"#, 400, "/since"), (#"{"label":"a:b"}"#, 400, "/label"), (#"{"url":1}"#, 400, "/url"),
    ])
  func `wrong selection is refused`(_ body: String, _ status: Int, _ pointer: String) throws {
    let task = try create()
    for verb in ["cancel", "suspend", "resume", "delete"] {
      let reply = try place.call("POST", "/v1/tasks/\(verb)", body.isEmpty ? nil : body)
      #expect(reply.status == status, "\(reply.text)")
      #expect(reply.json["errors"]?.elements?.first?["pointer"]?.string == pointer)
    }
    #expect(try state(task) == "suspended")
  }

  @Test func `other tenants keep their tasks`() async throws {
    let ids = try await place.make(.suspendedTask, of: InProcessAPI.a)
    let call = InProcessAPI.Call(
      method: "POST", target: "/v1/tasks/cancel", body: #"{"all":true}"#, type: "application/json")
    let reply = try await place.send(call, from: InProcessAPI.b)
    #expect(reply.json["matched"]?.integer == 0)
    let read = InProcessAPI.Call(method: "GET", target: "/v1/tasks/\(ids["task"] ?? "")")
    #expect(try await place.send(read, from: InProcessAPI.a).json["state"]?.string == "suspended")
  }

  @Test func `ended task is deleted with its body and events`() throws {
    let task = try place.run(origin.url + "/large").id
    #expect(try place.call("GET", "/v1/tasks/\(task)/body").body.count == 100_000)
    #expect(try place.call("DELETE", "/v1/tasks/\(task)?x=1").status == 400)
    #expect(try place.call("DELETE", "/v1/tasks/\(task)").status == 204)
    for path in ["", "/body", "/events", "/metrics"] {
      #expect(try place.call("GET", "/v1/tasks/\(task)\(path)").status == 404)
    }
    #expect(try place.call("DELETE", "/v1/tasks/\(task)").status == 404)
    #expect(try place.call("DELETE", "/v1/tasks/what").status == 404)
    let files = try FileManager.default.subpathsOfDirectory(atPath: place.directory)
    #expect(files.filter { $0.contains(task) }.isEmpty)
  }

  @Test(arguments: [false, true]) func `task that has not ended is not deleted`(_ resume: Bool) throws {
    let task = try create(#","resume":\#(resume)"#)
    let reply = try place.call("DELETE", "/v1/tasks/\(task)")
    #expect(reply.status == 409 && reply.json["type"]?.string?.hasSuffix("/conflict") == true)
    #expect(try place.call("GET", "/v1/tasks/\(task)").status == 200)
    _ = try place.act("cancel", task)
  }

  @Test func `pending message outlives its task`() throws {
    let body =
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/x"},"completion":{"webhook":{"url":"http://hooks.test/"}}}"#
    let task = try place.call("POST", "/v1/tasks", body).json.id
    _ = try place.poll("/v1/tasks/\(task)") { $0["state"]?.string == "completed" }
    #expect(try place.call("DELETE", "/v1/tasks/\(task)").status == 204)
    #expect(try place.hasPendingMessage(of: task))
  }
}
