import Foundation
import JSON
import TestSupport
import Testing

/// The delegate's decisions about storing a response, across restarts, and by an endpoint.
@Suite(.serialized, .blocking, .sharing) struct CachingDecisionTests {
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

  private func files(_ client: CacheClient) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: client.directory)) ?? []
  }

  /// A response for memory only leaves no file, and is gone after a restart.
  @Test(arguments: ["/small", "/large"]) func `in-memory response is not written`(_ path: String) throws {
    let directory = TemporaryDirectory.make("cache-decision")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var session = ""
    do {
      let ferry = try FerryProcess(directory: directory)
      session = try ferry.session(delegate: #"{"caching":"ask"}"#)
      let client = try CacheClient(ferry, origin, session: session)
      let id = try ferry.create(origin.url + path, session: session)
      let event = try ferry.decisionEvent(of: id, Self.asked)
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
    // The task's own body is kept.
    let tasks = try ferry.call("GET", "/v1/sessions/\(session)/tasks").json["items"]?.elements ?? []
    let first = try #require(tasks.first { !$0.isFromCache && $0["error"] == .null })
    #expect(try ferry.body(of: first.id) == Self.bodies[path])
  }

  @Test(arguments: ["allowed", "notAllowed"]) func `endpoint decides about storage`(_ policy: String) throws {
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

  /// A task that ended with its service no longer needs an answer.
  @Test func `decision ends with the service`() throws {
    let directory = TemporaryDirectory.make("cache-decision")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var (session, id, decision) = ("", "", "")
    do {
      let ferry = try FerryProcess(directory: directory)
      session = try ferry.session(delegate: #"{"caching":"ask"}"#)
      id = try ferry.create(origin.url + "/large", session: session)
      decision = try ferry.decisionEvent(of: id, Self.asked).decision
      ferry.kill()
    }
    let ferry = try FerryProcess(directory: directory)
    let client = try CacheClient(ferry, origin, session: session)
    #expect(try ferry.end(of: id).errorCode == -1005)
    #expect(try ferry.answer(decision, #"{"storagePolicy":"allowed"}"#).status == 409)
    #expect(try client.cache["countOfEntries"]?.integer == 0 && files(client).isEmpty)
  }
}
