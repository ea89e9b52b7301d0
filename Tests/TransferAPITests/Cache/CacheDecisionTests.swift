import Foundation
import JSON
import TestSupport
import Testing

/// urlSession(_:dataTask:willCacheResponse:): the delegate decides on the storage of a response.
@Suite(.serialized, .blocking, .sharing) struct CacheDecisionTests {
  private static let asked = "dataTask.willCacheResponse"
  private static let bodies = ["/small": Pattern.bytes(1000), "/large": Pattern.bytes(200_000)]
  private let place: InProcessAPI
  private let origin = CacheOrigin()

  init() throws {
    place = try .ofSuite()
    for (path, body) in Self.bodies { origin.serve(path, body, CacheOrigin.fresh) }
  }

  private func asking(_ rest: String = "") throws -> CacheClient {
    try CacheClient(
      place, origin, session: place.session(delegate: #"{"caching":"ask"\#(rest)}"#))
  }

  /// Creates a task, and returns it with the event that asks for the caching decision.
  private func ask(_ client: CacheClient, _ path: String) throws -> (id: String, event: EventReader.Event) {
    let id = try place.create(origin.url + path, session: client.session)
    return (id, try place.decisionEvent(of: id, Self.asked))
  }

  private func decide(_ policy: String, _ decision: String) throws -> HTTPReply {
    try place.answer(decision, #"{"storagePolicy":"\#(policy)"}"#)
  }

  private func files(_ client: CacheClient) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: client.directory)) ?? []
  }

  // MARK: Decision requested

  /// The delegate decides about a response to credentials without persistence. Requests without the credentials do
  /// not get that response.
  @Test func `caching decision follows a challenge`() throws {
    let origin = TestOrigin { request, socket in
      guard request["Authorization"] != nil else {
        try socket.write(
          TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", "Basic realm=\"x\"")]))
        return true
      }
      try socket.write(
        TestOrigin.reply("200 OK", Array("private".utf8), [("Cache-Control", "private, max-age=86400")]))
      return true
    }
    let session = try place.session(delegate: #"{"caching":"ask","taskChallenges":"ask"}"#)
    for _ in 0..<2 {
      let id = try place.create(origin.url + "/", kind: "data", session: session)
      let challenge = try place.decisionEvent(of: id, "task.didReceiveChallenge")
      let credential = #"{"user":"u","password":"p","persistence":"none"}"#
      try place.answer(challenge.decision, #"{"disposition":"useCredential","credential":\#(credential)}"#)
      let question = try place.decisionEvent(of: id, Self.asked)
      #expect(try decide("allowed", question.decision).status == 200)
      let end = try place.end(of: id)
      #expect(end["error"] == .null && end["response"]?["fromCache"]?.bool == false)
    }
    #expect(origin.requests.count == 4)
  }

  @Test(arguments: ["/small", "/large"]) func `task waits for the caching decision`(_ path: String) throws {
    let client = try asking()
    let (id, event) = try ask(client, path)
    #expect(event.data["default"]?.string == "allowed" && event.data["expiresAt"]?.string != nil)
    #expect(event.data["response"]?["status"]?.integer == 200)
    #expect(event.data["countOfBytes"]?.integer == Int64(Self.bodies[path]?.count ?? -1))
    let waiting = try place.task(id)
    #expect(waiting["phase"]?.string == "waitingForDecision" && waiting["state"]?.string == "running")
    let decision = try place.decision(event.decision)
    #expect(decision["state"]?.string == "pending" && decision["taskId"]?.string == id)
    let open = try place.call("GET", "/v1/sessions/\(client.session)/decisions?state=pending").json
    #expect(open["items"]?.elements?.map(\.id) == [event.decision])
    // Other tasks continue meanwhile, including tasks for the same URL.
    #expect(try !CacheClient(place, origin).load(path).isFromCache)
    #expect(try decide("allowed", event.decision).status == 200)
    let types = try place.story(of: id).map(\.type).filter { $0 != "task.didChangeState" }
    #expect(
      types == [
        "task.didCreate", "dataTask.didReceiveResponse", Self.asked, "task.didFinishCollectingMetrics",
        "task.didComplete",
      ])
    #expect(try place.body(of: id) == Self.bodies[path])
    let hit = try client.load(path)
    #expect(hit.isFromCache)
    #expect(try place.body(of: hit.id) == Self.bodies[path])
    // A hit needs no decision.
    #expect(try place.story(of: hit.id).allSatisfy { $0.type != Self.asked })
  }

  @Test(arguments: ["/small", "/large"]) func `refused response is not stored`(_ path: String) throws {
    let client = try asking()
    for _ in 0..<2 {
      let (id, event) = try ask(client, path)
      #expect(
        try decide("notAllowed", event.decision).json["answer"]?["storagePolicy"]?.string == "notAllowed")
      #expect(try place.end(of: id)["error"] == .null)
      #expect(try place.body(of: id) == Self.bodies[path])
    }
    #expect(origin.count(path) == 2)
    #expect(try client.cache["countOfEntries"]?.integer == 0 && files(client).isEmpty)
  }

  @Test func cachingDecisionTimeoutAllowsStorage() throws {
    let client = try asking(#","decisionTimeout":0.5"#)
    for path in Self.bodies.keys {
      // The request's timeout does not run during a decision.
      let id = try place.create(
        origin.url + path, session: client.session, request: #","timeoutInterval":0.2"#)
      let event = try place.decisionEvent(of: id, Self.asked)
      #expect(try place.end(of: id)["error"] == .null)
      #expect(try place.decision(event.decision)["state"]?.string == "expired")
      #expect(try decide("notAllowed", event.decision).status == 409)
      #expect(try client.load(path).isFromCache)
    }
  }

  @Test(arguments: [
    "{}", #"{"storagePolicy":"always"}"#, #"{"storagePolicy":null}"#, #"{"storagePolicy":1}"#,
    #"{"disposition":"allow"}"#, #"{"storagePolicy":"allowed","disposition":"allow"}"#, "[]", "allowed",
  ])
  func `malformed caching answer is refused and the decision stays pending`(_ body: String) throws {
    let client = try asking()
    let (id, event) = try ask(client, "/small")
    let reply = try place.answer(event.decision, body)
    #expect(reply.status == 400 && reply["Content-Type"] == "application/problem+json", "\(reply.text)")
    #expect(try place.decision(event.decision)["state"]?.string == "pending")
    #expect(try decide("notAllowed", event.decision).status == 200)
    #expect(try decide("notAllowed", event.decision).status == 200)
    #expect(try decide("allowed", event.decision).status == 409)
    #expect(try place.end(of: id)["error"] == .null)
    #expect(try client.cache["countOfEntries"]?.integer == 0)
  }

  // MARK: During the wait

  @Test(arguments: ["/small", "/large"]) func `waiting task may be cancelled`(_ path: String) throws {
    let client = try asking()
    let (id, event) = try ask(client, path)
    #expect(try place.act("cancel", id) == "canceling")
    let end = try place.end(of: id)
    #expect(end.errorCode == -999 && end["body"] == .null)
    #expect(try decide("allowed", event.decision).status == 409)
    #expect(try place.decision(event.decision)["state"]?.string != "pending")
    #expect(try client.cache["countOfEntries"]?.integer == 0 && files(client).isEmpty)
  }

  @Test(arguments: [true, false]) func `waiting task may be suspended`(_ answersFirst: Bool) throws {
    let client = try asking()
    let (id, event) = try ask(client, "/large")
    #expect(try place.act("suspend", id) == "suspended")
    if answersFirst { #expect(try decide("allowed", event.decision).status == 200) }
    #expect(try place.act("resume", id) == "running")
    if !answersFirst { #expect(try decide("allowed", event.decision).status == 200) }
    let end = try place.end(of: id)
    #expect(end["error"] == .null && end["body"]?["size"]?.integer == 200_000)
    #expect(try client.load("/large").isFromCache)
  }

  // MARK: No decision

  @Test func `task with a completion needs no caching decision`() throws {
    let client = try asking()
    let hook = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("204 No Content"))
      return true
    }
    let reply = try place.call(
      "POST", "/v1/sessions/\(client.session)/tasks",
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/small"},"#
        + #""completion":{"webhook":{"url":"\#(hook.url)/"}}}"#)
    let story = try place.story(of: reply.json.id)
    #expect(story.allSatisfy { $0.data["decisionId"] == nil } && story.last?.data["error"] == .null)
    #expect(try client.load("/small").isFromCache)
    withExtendedLifetime(hook) {}
  }

  @Test func `session without caching decisions still emits the event`() throws {
    let client = try CacheClient(place, origin)
    for path in Self.bodies.keys {
      let story = try place.story(of: client.load(path).id)
      let event = try #require(story.first { $0.type == Self.asked })
      #expect(event.data["decisionId"] == nil && event.data["expiresAt"] == nil)
      #expect(event.data["storagePolicy"]?.string == "allowed")
      #expect(event.data["response"]?["status"]?.integer == 200)
      #expect(story.allSatisfy { $0.data["phase"]?.string != "waitingForDecision" })
    }
  }

  @Test func `response that cannot be stored needs no caching decision`() throws {
    let client = try asking()
    origin.serve("/never", "n", [("Cache-Control", "no-store")])
    origin.serve("/huge", Pattern.bytes(2_000_000), CacheOrigin.fresh)
    origin.serve("/missing", "n", status: "404 Not Found", CacheOrigin.fresh)
    for path in ["/never", "/huge", "/missing"] {
      let story = try place.story(of: place.create(origin.url + path, session: client.session))
      #expect(story.allSatisfy { $0.type != Self.asked }, "\(path)")
    }
    let download = try place.create(origin.url + "/small", kind: "download", session: client.session)
    #expect(try place.story(of: download).allSatisfy { $0.type != Self.asked })
  }
}
