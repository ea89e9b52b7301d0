import Dispatch
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Background sessions, which clients find again by their identifier.
@Suite(.serialized, .blocking) struct BackgroundSessionTests {
  private func pointers(_ reply: HTTPReply) -> [String] {
    reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } ?? []
  }

  private func isTaken(_ reply: HTTPReply) -> Bool {
    reply.status == 409 && reply.json["type"]?.string == "/problems/identifier-in-use"
      && pointers(reply) == ["/identifier"]
  }

  @Test func `session shows its effective configuration`() throws {
    let ferry = try FerryProcess()
    let members =
      #","configuration":{"retry":{"maximumAttempts":3}},"delegate":{"redirects":"ask","responses":"ask"}"#
    let reply = try ferry.background("com.example.é", members)
    #expect(reply.status == 201 && reply["Location"] == "/v1/sessions/" + reply.json.id)
    let session = try ferry.call("GET", "/v1/sessions/" + reply.json.id).json
    #expect(session == reply.json)
    #expect(session["type"]?.string == "background" && session["identifier"]?.string == "com.example.é")
    #expect(session["configuration"]?["urlCache"] == .null)
    #expect(session["configuration"]?["waitsForConnectivity"]?.bool == true)
    #expect(session["configuration"]?["retry"]?["maximumAttempts"]?.integer == 3)
    #expect(session["delegate"]?["redirects"]?.string == "follow")
    #expect(session["tenant"] == nil)
    #expect(try ferry.call("GET", "/v1/sessions/ses_shared").json["identifier"] == .null)
  }

  @Test func `identifier finds the session again after a restart`() throws {
    let directory = TemporaryDirectory.make("ferry-background")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var ferry = try FerryProcess(directory: directory)
    let secret = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
    let members =
      #","description":"d","configuration":{"httpAdditionalHeaders":{"Authorization":"Bearer x"},"timeoutIntervalForRequest":1.5}"#
      + #","delegate":{"taskChallenges":"ask","webhook":{"url":"http://127.0.0.1:1/","secret":"\#(secret)"}}"#
    let first = try ferry.background("a", members)
    for isRestarted in [false, true] {
      if isRestarted {
        ferry.kill()
        ferry = try FerryProcess(directory: directory)
      }
      let again = try ferry.background("a", members)
      #expect(again.status == 200 && again.json == first.json, "restarted: \(isRestarted)")
      #expect(again["Location"] == first["Location"] && again["ETag"] == first["ETag"])
      for other in [
        members.replacing("1.5", with: "2"), members.replacing("Bearer x", with: "Bearer y"),
        members.replacing(secret, with: "whsec_" + Data(repeating: 8, count: 32).base64EncodedString()),
        members.replacing(#""ask""#, with: #""default""#), members.replacing(#""d""#, with: #""e""#),
        #","delegate":{}"#,
      ] { #expect(isTaken(try ferry.background("a", other)), "\(other)") }
    }
    #expect(try ferry.background("b", members).json.id != first.json.id)
    #expect(try ferry.call("GET", "/v1/sessions?type=background").json["items"]?.elements?.count == 2)
  }

  @Test func `concurrent creations yield one session`() throws {
    let ferry = try FerryProcess()
    let port = ferry.port
    let replies = Mutex<[(Int, String)]>([])
    DispatchQueue.concurrentPerform(iterations: 16) { _ in
      let body = Array(#"{"type":"background","identifier":"a","delegate":{}}"#.utf8)
      let reply = try? HTTPClient(port: port).send(
        "POST", "/v1/sessions", body, [("Content-Type", "application/json")])
      replies.withLock { $0.append((reply?.status ?? 0, reply?.json.id ?? "")) }
    }
    let all = replies.withLock { $0 }
    #expect(all.count == 16 && Set(all.map(\.1)).count == 1)
    #expect(all.map(\.0).sorted() == Array(repeating: 200, count: 15) + [201])
  }

  @Test func `identifier of an invalid session is free again`() throws {
    let ferry = try FerryProcess()
    let origin = TestOrigin { _, socket in try socket.readSome() != nil }
    let first = try ferry.background("a").json.id
    let task = try ferry.create(origin.url + "/", session: first)
    #expect(
      try ferry.call("POST", "/v1/sessions/\(first)/invalidate").json["state"]?.string == "invalidating")
    #expect(isTaken(try ferry.background("a")))
    _ = try ferry.act("cancel", task)
    _ = try ferry.poll("/v1/sessions/\(first)") { $0["state"]?.string == "invalid" }
    let second = try ferry.background("a")
    #expect(second.status == 201 && second.json.id != first)
    #expect(try ferry.call("DELETE", "/v1/sessions/\(first)").status == 204)
    let third = try ferry.background("a")
    #expect(third.status == 200 && third.json.id == second.json.id)
  }

  @Test func `repeated creation with a key returns the first reply`() throws {
    let ferry = try FerryProcess()
    let members = #","delegate":{}"#
    let created = try ferry.background("a", members, [("Idempotency-Key", "k")])
    let found = try ferry.background("a", members, [("Idempotency-Key", "l")])
    #expect(created.status == 201 && found.status == 200)
    for (key, status) in [("k", 201), ("l", 200)] {
      let again = try ferry.background("a", members, [("Idempotency-Key", key)])
      #expect(again.status == status && again.json == created.json)
    }
    #expect(try ferry.background("b", members, [("Idempotency-Key", "k")]).status == 422)
  }

  @Test func `identifiers belong to one tenant`() throws {
    let directory = TemporaryDirectory.make("ferry-tenants")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try "plain\nblue one\n\nblue two\ngreen  three\n"
      .write(toFile: directory + "/tokens", atomically: true, encoding: .utf8)
    var ferry = try FerryProcess(directory: directory, options: ["--token-file", directory + "/tokens"])
    func create(_ token: String) throws -> HTTPReply {
      try ferry.background("a", #","delegate":{}"#, [("Authorization", "Bearer " + token)])
    }
    let (plain, blue, green) = (try create("plain"), try create("one"), try create("three"))
    #expect([plain, blue, green].map(\.status) == [201, 201, 201])
    #expect(Set([plain, blue, green].map(\.json.id)).count == 3)
    #expect(!blue.text.contains("blue"))
    for _ in 0..<2 {
      #expect(try create("two").json.id == blue.json.id)
      #expect(try create("three").json.id == green.json.id && create("plain").json.id == plain.json.id)
      ferry.kill()
      ferry = try FerryProcess(directory: directory, options: ["--token-file", directory + "/tokens"])
    }
  }
}
