import JSON
import TestSupport
import Testing
import TransferModel

@testable import TransferAPI

/// The counts of a tenant, and the settings that it may see.
@Suite(.serialized, .blocking) struct UsageRouteTests {
  private let place: InProcessAPI

  init() throws { place = try InProcessAPI() }

  private func get(_ target: String, as tenant: Tenant) throws -> InProcessAPI.Answer {
    let place = place
    return try blocking {
      try await place.send(InProcessAPI.Call(method: "GET", target: target), from: tenant)
    }
  }

  private func counts(_ usage: JSONValue) -> [Int64?] {
    ["suspended", "running", "canceling", "succeeded", "failed", "cancelled"].map {
      usage["tasks"]?[$0]?.integer
    }
  }

  @Test func `usage counts the tasks of all sessions, ephemeral ones too`() throws {
    #expect(counts(try place.call("GET", "/v1/usage").json) == [0, 0, 0, 0, 0, 0])
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", []))
      return true
    }
    _ = try place.run(origin.url + "/", session: "ses_shared")
    let ephemeral = try place.call("POST", "/v1/sessions", #"{"type":"ephemeral"}"#).json.id
    for session in ["ses_shared", ephemeral] {
      let task = try place.call(
        "POST", "/v1/sessions/\(session)/tasks", #"{"kind":"data","request":{"url":"\#(origin.url)/"}}"#)
      #expect(task.status == 201)
    }
    let task = try place.call("POST", "/v1/tasks", #"{"kind":"data","request":{"url":"\#(origin.url)/"}}"#)
    _ = try place.call("POST", "/v1/tasks/\(task.json.id)/cancel")
    _ = try place.poll("/v1/tasks/\(task.json.id)") { $0["state"]?.string == "completed" }
    let usage = try place.call("GET", "/v1/usage")
    #expect(counts(usage.json) == [2, 0, 0, 1, 0, 1], "\(usage.text)")
    #expect(usage.json["disk"]?.text == #"{"availableBytes":1,"totalBytes":2}"#)
    #expect(usage["ETag"] != nil)
  }

  @Test func `usage and settings of another tenant are its own`() throws {
    _ = try place.call("POST", "/v1/tasks", #"{"kind":"data","request":{"url":"http://127.0.0.1:9/"}}"#)
    #expect(counts(try get("/v1/usage", as: InProcessAPI.a).json) == [0, 0, 0, 0, 0, 0])
    #expect(try place.call("GET", "/v1/settings").json["settings"]?.elements?.count == 1)
    let limited = try get("/v1/settings", as: InProcessAPI.a)
    #expect(limited.status == 200 && limited.json["settings"]?.elements?.isEmpty == true)
  }

  @Test(arguments: ["/v1/usage", "/v1/settings"])
  func `unknown query parameter and missing token are refused`(_ path: String) throws {
    let reply = try place.call("GET", path + "?x=1")
    #expect(reply.status == 400 && reply.json["errors"]?.elements?.first?["in"]?.string == "query")
    #expect(try get(path, as: Tenant(name: "unknown")).status == 401)
  }
}
