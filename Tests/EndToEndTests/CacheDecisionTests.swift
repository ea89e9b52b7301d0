import Foundation
import JSON
import TestSupport
import Testing

/// urlSession(_:dataTask:willCacheResponse:): a delegate says whether an answer is stored, and where.
@Suite(.serialized, .blocking, .sharing) struct CacheDecisionTests {
  private static let asked = "dataTask.willCacheResponse"
  private static let bodies = ["/small": Pattern.bytes(1000), "/large": Pattern.bytes(200_000)]
  private let ferry: FerryProcess
  private let origin = CacheOrigin()

  init() throws {
    ferry = try .ofSuite()
    for (path, body) in Self.bodies { origin.serve(path, body, CacheOrigin.fresh) }
  }

  private func asking(_ rest: String = "") throws -> CacheClient {
    try CacheClient(
      ferry, origin, session: ferry.session(delegate: #"{"caching":"ask"\#(rest)}"#))
  }

  /// A task that waits for its answer, and the question.
  private func ask(_ client: CacheClient, _ path: String) throws -> (id: String, event: EventReader.Event) {
    let id = try ferry.create(origin.url + path, session: client.session)
    return (id, try ferry.question(of: id, Self.asked))
  }

  private func decide(_ policy: String, _ decision: String) throws -> HTTPReply {
    try ferry.answer(decision, #"{"storagePolicy":"\#(policy)"}"#)
  }

  private func files(_ client: CacheClient) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: client.directory)) ?? []
  }

  // MARK: Asked

  /// The delegate is asked about what it was let in to see with credentials that nobody keeps. Those who come without them get none of it.
  @Test func itIsAskedBehindAChallenge() throws {
    let origin = TestOrigin { request, socket in
      guard request["Authorization"] != nil else {
        try socket.write(
          TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", "Basic realm=\"x\"")]))
        return true
      }
      try socket.write(
        TestOrigin.reply("200 OK", Array("private".utf8), [("Cache-Control", "private, max-age=60")]))
      return true
    }
    let session = try ferry.session(delegate: #"{"caching":"ask","taskChallenges":"ask"}"#)
    for _ in 0..<2 {
      let id = try ferry.create(origin.url + "/", kind: "data", session: session)
      let challenge = try ferry.question(of: id, "task.didReceiveChallenge")
      let credential = #"{"user":"u","password":"p","persistence":"none"}"#
      try ferry.answer(challenge.decision, #"{"disposition":"useCredential","credential":\#(credential)}"#)
      let question = try ferry.question(of: id, Self.asked)
      #expect(try decide("allowed", question.decision).status == 200)
      let end = try ferry.end(of: id)
      #expect(end["error"] == .null && end["response"]?["fromCache"]?.bool == false)
    }
    #expect(origin.requests.count == 4)
  }

  @Test(arguments: ["/small", "/large"]) func theTaskWaitsForTheAnswer(_ path: String) throws {
    let client = try asking()
    let (id, event) = try ask(client, path)
    #expect(event.data["default"]?.string == "allowed" && event.data["expiresAt"]?.string != nil)
    #expect(event.data["response"]?["status"]?.integer == 200)
    #expect(event.data["countOfBytes"]?.integer == Int64(Self.bodies[path]?.count ?? -1))
    let waiting = try ferry.task(id)
    #expect(waiting["phase"]?.string == "waitingForDecision" && waiting["state"]?.string == "running")
    let decision = try ferry.decision(event.decision)
    #expect(decision["state"]?.string == "pending" && decision["taskId"]?.string == id)
    let open = try ferry.call("GET", "/v1/sessions/\(client.session)/decisions?state=pending").json
    #expect(open["items"]?.elements?.map(\.id) == [event.decision])
    // Others go on meanwhile, also those of the same URL.
    #expect(try !CacheClient(ferry, origin).load(path).isFromCache)
    #expect(try decide("allowed", event.decision).status == 200)
    let types = try ferry.story(of: id).map(\.type).filter { $0 != "task.didChangeState" }
    #expect(
      types == [
        "task.didCreate", "dataTask.didReceiveResponse", Self.asked, "task.didFinishCollectingMetrics",
        "task.didComplete",
      ])
    #expect(try ferry.body(of: id) == Self.bodies[path])
    let hit = try client.load(path)
    #expect(hit.isFromCache)
    #expect(try ferry.body(of: hit.id) == Self.bodies[path])
    // Nobody is asked about a hit.
    #expect(try ferry.story(of: hit.id).allSatisfy { $0.type != Self.asked })
  }

  @Test(arguments: ["/small", "/large"]) func whatIsNotAllowedIsNotStored(_ path: String) throws {
    let client = try asking()
    for _ in 0..<2 {
      let (id, event) = try ask(client, path)
      #expect(
        try decide("notAllowed", event.decision).json["answer"]?["storagePolicy"]?.string == "notAllowed")
      #expect(try ferry.end(of: id)["error"] == .null)
      #expect(try ferry.body(of: id) == Self.bodies[path])
    }
    #expect(origin.count(path) == 2)
    #expect(try client.cache["countOfEntries"]?.integer == 0 && files(client).isEmpty)
  }

  /// No file is written, and nothing is left of it after a restart.
  @Test(arguments: ["/small", "/large"]) func whatIsForTheMemoryIsNotWritten(_ path: String) throws {
    let directory = TemporaryDirectory.make("cache-decision")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var session = ""
    do {
      let ferry = try FerryProcess(directory: directory)
      session = try ferry.session(delegate: #"{"caching":"ask"}"#)
      let client = try CacheClient(ferry, origin, session: session)
      let id = try ferry.create(origin.url + path, session: session)
      let event = try ferry.question(of: id, Self.asked)
      #expect(try ferry.answer(event.decision, #"{"storagePolicy":"allowedInMemoryOnly"}"#).status == 200)
      _ = try ferry.end(of: id)
      let hit = try client.load(path)
      #expect(hit.isFromCache)
      #expect(try ferry.body(of: hit.id) == Self.bodies[path])
      let entry = try client.cache["entries"]?.elements?.first
      #expect(entry?["isInMemory"]?.bool == true && entry?["isOnDisk"]?.bool == false)
      #expect(files(client).isEmpty)
      #expect(ferry.terminate() == 0)
    }
    let ferry = try FerryProcess(directory: directory)
    let client = try CacheClient(ferry, origin, session: session)
    #expect(try client.cache["countOfEntries"]?.integer == 0)
    #expect(try client.load(path, #","cachePolicy":"returnCacheDataDontLoad""#).errorCode == -2000)
    // The task's own body is another matter.
    let tasks = try ferry.call("GET", "/v1/sessions/\(session)/tasks").json["items"]?.elements ?? []
    let first = try #require(tasks.first { !$0.isFromCache && $0["error"] == .null })
    #expect(try ferry.body(of: first.id) == Self.bodies[path])
  }

  @Test func whoDoesNotAnswerAllows() throws {
    let client = try asking(#","decisionTimeout":0.5"#)
    for path in Self.bodies.keys {
      // No time passes for the request meanwhile.
      let id = try ferry.create(
        origin.url + path, session: client.session, request: #","timeoutInterval":0.2"#)
      let event = try ferry.question(of: id, Self.asked)
      #expect(try ferry.end(of: id)["error"] == .null)
      #expect(try ferry.decision(event.decision)["state"]?.string == "expired")
      #expect(try decide("notAllowed", event.decision).status == 409)
      #expect(try client.load(path).isFromCache)
    }
  }

  @Test(arguments: [
    "{}", #"{"storagePolicy":"always"}"#, #"{"storagePolicy":null}"#, #"{"storagePolicy":1}"#,
    #"{"disposition":"allow"}"#, #"{"storagePolicy":"allowed","disposition":"allow"}"#, "[]", "allowed",
  ])
  func aWrongAnswerIsRefused(_ body: String) throws {
    let client = try asking()
    let (id, event) = try ask(client, "/small")
    let reply = try ferry.answer(event.decision, body)
    #expect(reply.status == 400 && reply["Content-Type"] == "application/problem+json", "\(reply.text)")
    #expect(try ferry.decision(event.decision)["state"]?.string == "pending")
    #expect(try decide("notAllowed", event.decision).status == 200)
    #expect(try decide("notAllowed", event.decision).status == 200)
    #expect(try decide("allowed", event.decision).status == 409)
    #expect(try ferry.end(of: id)["error"] == .null)
    #expect(try client.cache["countOfEntries"]?.integer == 0)
  }

  @Test(arguments: ["allowed", "notAllowed"]) func anEndpointMayAnswer(_ policy: String) throws {
    let hook = TestOrigin { request, socket in
      let asks = (try? JSONParser.parse(request.body))?["type"]?.string == Self.asked
      let answer = Array(#"{"storagePolicy":"\#(policy)"}"#.utf8)
      try socket.write(asks ? TestOrigin.reply("200 OK", answer) : TestOrigin.reply("204 No Content"))
      return true
    }
    let client = try asking(#","webhook":{"url":"\#(hook.url)/","events":[],"answers":true}"#)
    let first = try ferry.end(of: ferry.create(origin.url + "/small", session: client.session))
    #expect(first["error"] == .null)
    let told = hook.requests.compactMap { try? JSONParser.parse($0.body) }.filter {
      $0["type"]?.string == Self.asked
    }
    #expect(told.count == 1 && told.first?["data"]?["taskId"]?.string == first.id)
    #expect(told.first?["data"]?["response"]?["status"]?.integer == 200)
    #expect(try client.load("/small").isFromCache == (policy == "allowed"))
  }

  // MARK: While it waits

  @Test(arguments: ["/small", "/large"]) func aTaskMayBeCancelledWhileItWaits(_ path: String) throws {
    let client = try asking()
    let (id, event) = try ask(client, path)
    #expect(try ferry.act("cancel", id) == "canceling")
    let end = try ferry.end(of: id)
    #expect(end.errorCode == -999 && end["body"] == .null)
    #expect(try decide("allowed", event.decision).status == 409)
    #expect(try ferry.decision(event.decision)["state"]?.string != "pending")
    #expect(try client.cache["countOfEntries"]?.integer == 0 && files(client).isEmpty)
  }

  @Test(arguments: [true, false]) func aTaskMayBeSuspendedWhileItWaits(_ answersFirst: Bool) throws {
    let client = try asking()
    let (id, event) = try ask(client, "/large")
    #expect(try ferry.act("suspend", id) == "suspended")
    if answersFirst { #expect(try decide("allowed", event.decision).status == 200) }
    #expect(try ferry.act("resume", id) == "running")
    if !answersFirst { #expect(try decide("allowed", event.decision).status == 200) }
    let end = try ferry.end(of: id)
    #expect(end["error"] == .null && end["body"]?["size"]?.integer == 200_000)
    #expect(try client.load("/large").isFromCache)
  }

  /// Nobody can answer any more for a task that ended with the process.
  @Test func theQuestionEndsWithTheProcess() throws {
    let directory = TemporaryDirectory.make("cache-decision")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var (session, id, decision) = ("", "", "")
    do {
      let ferry = try FerryProcess(directory: directory)
      session = try ferry.session(delegate: #"{"caching":"ask"}"#)
      id = try ferry.create(origin.url + "/large", session: session)
      decision = try ferry.question(of: id, Self.asked).decision
      ferry.kill()
    }
    let ferry = try FerryProcess(directory: directory)
    let client = try CacheClient(ferry, origin, session: session)
    #expect(try ferry.end(of: id).errorCode == -1005)
    #expect(try ferry.answer(decision, #"{"storagePolicy":"allowed"}"#).status == 409)
    #expect(try client.cache["countOfEntries"]?.integer == 0 && files(client).isEmpty)
  }

  // MARK: Not asked

  @Test func aTaskWithACompletionIsNotAskedAbout() throws {
    let client = try asking()
    let hook = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("204 No Content"))
      return true
    }
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(client.session)/tasks",
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/small"},"#
        + #""completion":{"webhook":{"url":"\#(hook.url)/"}}}"#)
    let story = try ferry.story(of: reply.json.id)
    #expect(story.allSatisfy { $0.data["decisionId"] == nil } && story.last?.data["error"] == .null)
    #expect(try client.load("/small").isFromCache)
    withExtendedLifetime(hook) {}
  }

  @Test func whoDoesNotAskIsTold() throws {
    let client = try CacheClient(ferry, origin)
    for path in Self.bodies.keys {
      let story = try ferry.story(of: client.load(path).id)
      let event = try #require(story.first { $0.type == Self.asked })
      #expect(event.data["decisionId"] == nil && event.data["expiresAt"] == nil)
      #expect(event.data["storagePolicy"]?.string == "allowed")
      #expect(event.data["response"]?["status"]?.integer == 200)
      #expect(story.allSatisfy { $0.data["phase"]?.string != "waitingForDecision" })
    }
  }

  @Test func nobodyIsAskedAboutWhatCannotBeStored() throws {
    let client = try asking()
    origin.serve("/never", "n", [("Cache-Control", "no-store")])
    origin.serve("/huge", Pattern.bytes(2_000_000), CacheOrigin.fresh)
    origin.serve("/missing", "n", status: "404 Not Found", CacheOrigin.fresh)
    for path in ["/never", "/huge", "/missing"] {
      let story = try ferry.story(of: ferry.create(origin.url + path, session: client.session))
      #expect(story.allSatisfy { $0.type != Self.asked }, "\(path)")
    }
    let download = try ferry.create(origin.url + "/small", kind: "download", session: client.session)
    #expect(try ferry.story(of: download).allSatisfy { $0.type != Self.asked })
  }
}
