import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// A fresh stored response is the task's response, and it looks like a loaded one (URLCache, RFC 9111).
@Suite(.serialized, .blocking, .sharing) struct CacheTests {
  private let place: InProcessAPI
  private let origin = CacheOrigin()
  private let client: CacheClient

  init() throws {
    place = try .ofSuite()
    client = try CacheClient(place, origin)
  }

  private static let networkDates = [
    "domainLookupStartDate", "connectStartDate", "connectEndDate", "requestStartDate", "requestEndDate",
  ]

  // MARK: A hit

  /// The sizes are kept in memory, kept in a file, and nearly a twentieth of the cache.
  @Test(arguments: [0, 1, 1024, 100 << 10, 1_040_000])
  func `fresh response is served without a request`(_ size: Int) throws {
    let bytes = Pattern.bytes(size)
    let digest = SHA256.hash(data: bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
      .joined()
    origin.serve("/fresh", bytes, [("Cache-Control", "max-age=86400"), ("Age", "7"), ("X-Own", "kept")])
    for isHit in [false, true, true] {
      let task = try client.load("/fresh")
      #expect(task["error"] == .null && task.status == 200 && task.isFromCache == isHit)
      #expect(task["body"]?["size"]?.integer == Int64(size) && task.sha256 == digest)
      #expect(try place.body(of: task.id) == bytes)
      #expect(task.field("X-Own") == "kept" && task.field("Content-Length") == "\(size)")
      #expect(task["progress"]?["countOfBytesReceived"]?.integer == Int64(size))
      let age = try #require(task.field("Age").flatMap { Int($0) })
      #expect(isHit ? age >= 7 && age < 86400 : age == 7)
      try expectMetrics(of: task.id, isHit: isHit, size)
    }
    #expect(origin.count("/fresh") == 1)
  }

  private func expectMetrics(of id: String, isHit: Bool, _ size: Int) throws {
    let metrics = try place.metrics(of: id)
    let transaction = try #require(metrics["transactionMetrics"]?.elements?.first)
    #expect(metrics["transactionMetrics"]?.elements?.count == 1 && metrics["redirectCount"]?.integer == 0)
    #expect(transaction["resourceFetchType"]?.string == (isHit ? "localCache" : "networkLoad"))
    #expect(transaction["response"]?["status"]?.integer == 200)
    #expect(transaction["countOfResponseBodyBytesAfterDecoding"]?.integer == Int64(size))
    #expect(transaction["fetchStartDate"]?.string != nil && transaction["responseEndDate"]?.string != nil)
    guard isHit else { return }
    #expect(Self.networkDates.allSatisfy { transaction[$0]?.string == nil }, "\(transaction.text)")
    #expect(transaction["countOfResponseBodyBytesReceived"]?.integer == 0)
    #expect(transaction["networkProtocolName"] ?? .null == .null && transaction["remoteAddress"] == nil)
  }

  /// A hit has the same events as a load, except for the caching decision.
  @Test(arguments: [1024, 100 << 10, 1_000_000]) func `hit has the events of a load`(_ size: Int) throws {
    let bytes = Pattern.bytes(size)
    origin.serve("/told", bytes, CacheOrigin.fresh)
    for isHit in [false, true] {
      let id = try place.create(origin.url + "/told", session: client.session, resume: false)
      let stream = try place.events("/v1/tasks/\(id)/events?data=inline")
      #expect(try place.act("resume", id) == "running")
      let events = try stream.read(upTo: "task.didComplete")
      let types = events.map(\.type).filter { $0 != "task.didChangeState" }
        .reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }
      #expect(
        types == ["dataTask.didReceiveResponse", "dataTask.didReceiveData"]
          + (isHit ? [] : ["dataTask.willCacheResponse"])
          + ["task.didFinishCollectingMetrics", "task.didComplete"])
      let pieces = events.compactMap { $0.data["data"]?.string }.compactMap { Data(base64Encoded: $0) }
      #expect(Array(pieces.joined()) == bytes)
      let response = events.first { $0.type == "dataTask.didReceiveResponse" }?.data["response"]
      #expect(response?["fromCache"]?.bool == isHit)
      #expect(events.last?.data["error"] == .null)
      let states = try place.story(of: id).filter { $0.type == "task.didChangeState" }
      #expect(states.last?.data["state"]?.string != nil)
    }
    #expect(origin.count("/told") == 1)
  }

  /// Suspending and cancelling work even if the response is already stored.
  @Test func `hit may be suspended and cancelled`() throws {
    origin.serve("/held", Pattern.bytes(900_000), CacheOrigin.fresh)
    _ = try client.load("/held")
    for verb in ["suspend", "cancel"] {
      for _ in 0..<10 {
        let id = try place.create(origin.url + "/held", session: client.session)
        _ = try place.act(verb, id)
        if verb == "suspend" { _ = try place.act("resume", id) }
        let end = try place.end(of: id)
        #expect(
          verb == "suspend" ? end.isFromCache && end["error"] == .null : [nil, -999].contains(end.errorCode))
      }
    }
  }

  // MARK: Keys

  /// URLSession on Linux answered a query with the response to another query.
  @Test func `key of an entry is the whole URL`() throws {
    let urls = ["/key", "/key?a=1", "/key?a=2", "/key?a=1&b=2", "/KEY"]
    for url in urls { origin.serve(url, url, CacheOrigin.fresh) }
    for round in 0...1 {
      for url in urls {
        let task = try client.load(url)
        #expect(task.bodyText == url && task.isFromCache == (round == 1), "\(url)")
      }
    }
    #expect(try client.load("/key?a=1#one").isFromCache)
    #expect(urls.allSatisfy { origin.count($0) == 1 })
  }

  @Test func `sessions do not share their caches`() throws {
    origin.serve("/own", "own", CacheOrigin.fresh)
    let other = try CacheClient(place, origin)
    #expect(try !client.load("/own").isFromCache)
    #expect(try !other.load("/own").isFromCache)
    #expect(try client.load("/own").isFromCache && other.load("/own").isFromCache)
    #expect(origin.count("/own") == 2)
  }

  // MARK: Vary

  @Test func `Vary selects the entry`() throws {
    origin.on("/vary") { request, socket in
      let body = Array("\(request["Accept-Language"] ?? "none") \(request["X-Kind"] ?? "none")".utf8)
      try socket.write(
        TestOrigin.reply("200 OK", body, CacheOrigin.fresh + [("Vary", "Accept-Language, X-Kind")]))
      return true
    }
    let kinds: [[String: String]] = [
      ["Accept-Language": "de"], ["Accept-Language": "en"], ["Accept-Language": "en", "X-Kind": "a"],
      ["X-Kind": "b"],
    ]
    for round in 0...1 {
      for fields in kinds {
        let task = try client.load("/vary", fields: fields)
        #expect(task.bodyText == "\(fields["Accept-Language"] ?? "none") \(fields["X-Kind"] ?? "none")")
        #expect(task.isFromCache == (round == 1), "\(fields)")
      }
    }
    #expect(try client.load("/vary", fields: ["Accept-Language": "EN"]).isFromCache)
    #expect(try !client.load("/vary", fields: ["X-Kind": "B"]).isFromCache)
    #expect(origin.count("/vary") == 5)
    origin.serve("/star", "never", CacheOrigin.fresh + [("Vary", "*")])
    for _ in 0..<2 { #expect(try !client.load("/star").isFromCache) }
  }

  // MARK: Content

  /// The cache stores the decoded body.
  @Test func `coded body is served decoded`() throws {
    let coded = Array(Data(base64Encoded: "H4sIAAAAAAACA6uoGAUjDQAAUc6yCvQBAAA=") ?? Data())
    origin.serve("/gzip", coded, CacheOrigin.fresh + [("Content-Encoding", "gzip"), ("ETag", "\"g\"")])
    for isHit in [false, true] {
      let task = try client.load("/gzip")
      #expect(task.isFromCache == isHit && task.bodyText == String(repeating: "x", count: 500))
      #expect(task.field("Content-Encoding") == "gzip" && task["response"]?["expectedContentLength"] != nil)
    }
    #expect(origin.count("/gzip") == 1)
  }

  /// The cookies of a response are set once, when the response arrives.
  @Test func `cookies are not replayed by a hit`() throws {
    origin.serve("/cookie", "c", CacheOrigin.fresh + [("Set-Cookie", "n=first; Path=/")])
    _ = try client.load("/cookie")
    let cookies = "/v1/sessions/\(client.session)/cookies"
    #expect(try place.call("GET", cookies).text.contains("first"))
    #expect(try place.call("DELETE", cookies).status == 204)
    let hit = try client.load("/cookie")
    #expect(hit.isFromCache && hit.field("Set-Cookie") == nil)
    #expect(try !place.call("GET", cookies).text.contains("first"))
  }

  @Test func `redirect may lead to a stored response`() throws {
    origin.serve("/target", "target", CacheOrigin.fresh)
    origin.serve("/moved", "", status: "302 Found", CacheOrigin.fresh + [("Location", "/target")])
    _ = try client.load("/target")
    for count in 1...2 {
      let task = try client.load("/moved")
      #expect(
        task.bodyText == "target" && task.isFromCache
          && task["response"]?["url"]?.string?.hasSuffix("/target") == true)
      let metrics = try place.metrics(of: task.id)
      #expect(
        metrics["transactionMetrics"]?.elements?.map { $0["resourceFetchType"]?.string }
          == ["networkLoad", "localCache"])
      #expect(metrics["redirectCount"]?.integer == 1)
      #expect(origin.count("/moved") == count && origin.count("/target") == 1)
    }
  }
}
