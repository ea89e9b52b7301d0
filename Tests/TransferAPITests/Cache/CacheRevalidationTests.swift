import JSON
import TestSupport
import Testing

/// Revalidation of stale entries, and invalidation by changes (RFC 9111 §4.2 to §4.4, RFC 5861).
@Suite(.serialized, .blocking, .sharing) struct CacheRevalidationTests {
  private let place: InProcessAPI
  private let origin = CacheOrigin()
  private let client: CacheClient

  init() throws {
    place = try .ofSuite()
    client = try CacheClient(place, origin)
  }

  private func fetchTypes(_ task: JSONValue) throws -> [String?] {
    let metrics = try place.metrics(of: task.id)
    #expect(metrics["redirectCount"]?.integer == 0)
    return metrics["transactionMetrics"]?.elements?.map { $0["resourceFetchType"]?.string } ?? []
  }

  // MARK: Revalidation

  @Test(arguments: ["ETag", "Last-Modified"]) func `response 304 freshens entry`(_ validator: String) throws {
    let value = validator == "ETag" ? "W/\"v1\"" : "Sat, 01 Nov 2025 12:00:00 GMT"
    let condition = validator == "ETag" ? "If-None-Match" : "If-Modified-Since"
    let first = CacheOrigin.stale + [(validator, value), ("X-State", "old"), ("X-Kept", "kept")]
    let confirmation = CacheOrigin.fresh + [(validator, value), ("X-State", "new")]
    origin.on("/v") { request, socket in
      let isKnown = request[condition] == value
      try socket.write(
        isKnown
          ? CacheOrigin.confirmation(confirmation) : TestOrigin.reply("200 OK", Array("body".utf8), first))
      return true
    }
    #expect(try client.load("/v").field("X-State") == "old")
    let confirmed = try client.load("/v")
    #expect(confirmed.isFromCache && confirmed.status == 200 && confirmed.bodyText == "body")
    #expect(confirmed.field("X-State") == "new" && confirmed.field("X-Kept") == "kept")
    #expect(confirmed.field("Cache-Control") == "max-age=86400")
    // The age counts from the confirmation, not from the 3,610 s of the first response.
    #expect((0..<3600).contains(try #require(confirmed.field("Age").flatMap { Int($0) })))
    #expect(confirmed.field("Content-Length") == "4")
    #expect(try fetchTypes(confirmed) == ["networkLoad", "localCache"])
    let statuses = try place.metrics(of: confirmed.id)["transactionMetrics"]?.elements?
      .map { $0["response"]?["status"]?.integer }
    #expect(statuses == [304, 200])
    let types = try place.story(of: confirmed.id).map(\.type)
    #expect(types.filter { $0 == "dataTask.didReceiveResponse" }.count == 1)
    #expect(!types.contains("dataTask.willCacheResponse"))
    // The entry is fresh now.
    let hit = try client.load("/v")
    #expect(hit.isFromCache && hit.field("X-State") == "new")
    #expect(try fetchTypes(hit) == ["localCache"])
    #expect(origin.count("/v") == 2)
  }

  @Test(arguments: [1024, 100 << 10, 1_000_000]) func `confirmed body is whole`(_ size: Int) throws {
    let bytes = Pattern.bytes(size)
    origin.on("/large") { request, socket in
      try socket.write(
        request["If-None-Match"] == "\"a\""
          ? CacheOrigin.confirmation([("ETag", "\"a\"")])
          : TestOrigin.reply("200 OK", bytes, [("ETag", "\"a\""), ("Cache-Control", "no-cache")]))
      return true
    }
    for isHit in [false, true, true] {
      let task = try client.load("/large")
      #expect(task.isFromCache == isHit && task["error"] == .null)
      #expect(try place.body(of: task.id) == bytes)
    }
    #expect(origin.requests("/large").map { $0["If-None-Match"] } == [nil, "\"a\"", "\"a\""])
  }

  /// `no-store` in a 304 or in its request forbids even the update of header fields (RFC 9111 §5.2.2.5, §5.2.1.5).
  @Test func `confirmation with no store does not update the entry`() throws {
    func serve(confirming fields: [(String, String)]) {
      origin.serve("/quiet", "body", tag: "\"1\"", CacheOrigin.stale, confirming: fields)
    }
    func confirm(_ fields: [String: String] = [:], asks count: Int) throws {
      let task = try client.load("/quiet", fields: fields)
      #expect(task.isFromCache && task.bodyText == "body" && origin.count("/quiet") == count)
    }
    serve(confirming: [("Cache-Control", "no-store, max-age=86400")])
    _ = try client.load("/quiet")
    try confirm(asks: 2)
    try confirm(asks: 3)
    serve(confirming: CacheOrigin.fresh)
    try confirm(["Cache-Control": "no-store"], asks: 4)
    try confirm(asks: 5)
    try confirm(asks: 5)
  }

  @Test func `response 200 replaces the entry`() throws {
    origin.serve("/r", "old", tag: "\"1\"", CacheOrigin.stale)
    _ = try client.load("/r")
    origin.serve("/r", "newer", tag: "\"2\"", CacheOrigin.fresh)
    let replaced = try client.load("/r")
    #expect(!replaced.isFromCache && replaced.bodyText == "newer")
    #expect(try fetchTypes(replaced) == ["networkLoad"])
    let hit = try client.load("/r")
    #expect(hit.isFromCache && hit.bodyText == "newer" && hit.field("ETag") == "\"2\"")
    #expect(origin.requests("/r").map { $0["If-None-Match"] } == [nil, "\"1\""])
    #expect(try client.cache["countOfEntries"]?.integer == 1)
  }

  /// A response that must not be stored still invalidates the old entry.
  @Test(arguments: ["200 OK", "404 Not Found", "410 Gone"]) func `response drops the entry`(_ status: String)
    throws
  {
    origin.serve("/gone", "old", tag: "\"1\"", CacheOrigin.stale + [("Cache-Control", "stale-if-error=9000")])
    _ = try client.load("/gone")
    origin.serve("/gone", "new", status: status, [("Cache-Control", "no-store")])
    #expect(try client.load("/gone").bodyText == "new")
    #expect(try client.cache["countOfEntries"]?.integer == 0)
  }

  /// The cache does not handle conditions that the client sets itself.
  @Test func `response 304 to a condition of the client reaches the client`() throws {
    origin.serve("/own", "body", tag: "\"1\"", CacheOrigin.fresh)
    _ = try client.load("/own")
    let task = try client.load("/own", fields: ["If-None-Match": #"\"1\""#])
    #expect(task.status == 304 && !task.isFromCache && task["body"]?["size"]?.integer ?? 0 == 0)
    #expect(try client.load("/own").isFromCache)
  }

  @Test func `cache directives of the request are honoured`() throws {
    origin.serve("/asked", "a", tag: "\"1\"", CacheOrigin.fresh + [("Age", "100")])
    _ = try client.load("/asked")
    for (control, asks) in [
      ("no-cache", true), ("max-age=50", true), ("max-age=80000", false), ("min-fresh=86400", true),
      ("min-fresh=400", false), ("max-stale", false), ("only-if-cached", false),
    ] {
      let count = origin.count("/asked")
      _ = try client.load("/asked", fields: ["Cache-Control": control])
      #expect(origin.count("/asked") == count + (asks ? 1 : 0), "\(control)")
      if asks {
        // Restores the entry, which the response has freshened.
        #expect(try place.call("DELETE", "/v1/sessions/\(client.session)/cache").status == 204)
        _ = try client.load("/asked")
      }
    }
    let miss = try client.load("/none", fields: ["Cache-Control": "only-if-cached"])
    #expect(miss.errorCode == -2000 && miss["error"]?["name"]?.string == "cannotLoadFromNetwork")
    #expect(origin.count("/none") == 0)
    origin.serve("/stale", "s", tag: "\"1\"", CacheOrigin.stale)
    _ = try client.load("/stale")
    for (control, isHit) in [("max-stale", true), ("max-stale=90000", true), ("max-stale=60", false)] {
      let count = origin.count("/stale")
      #expect(try client.load("/stale", fields: ["Cache-Control": control]).bodyText == "s")
      #expect(origin.count("/stale") == count + (isHit ? 0 : 1), "\(control)")
    }
  }

  // MARK: Stale on error

  private static let onError = "max-age=10, stale-if-error=86400"
  private static let old = ("Age", "3610")

  @Test(arguments: [500, 502, 503, 504]) func `stale entry replaces a server error`(_ status: Int) throws {
    origin.serve("/e", "stored", [("Cache-Control", Self.onError), Self.old])
    _ = try client.load("/e")
    origin.serve("/e", "broken", status: "\(status) Broken", [])
    let task = try client.load("/e")
    #expect(task.isFromCache && task.status == 200 && task.bodyText == "stored")
    origin.serve("/t", "stored", tag: "\"1\"", [("Cache-Control", Self.onError), Self.old])
    _ = try client.load("/t")
    origin.serve("/t", "broken", status: "\(status) Broken", [])
    let tagged = try client.load("/t")
    #expect(tagged.isFromCache && tagged.bodyText == "stored" && tagged.status == 200)
    #expect(try fetchTypes(tagged) == ["networkLoad", "localCache"])
  }

  @Test func `stale entry is served on error only if its directives allow it`() throws {
    let kinds = [
      "max-age=10", "max-age=10, stale-if-error=60", "max-age=10, must-revalidate, stale-if-error=86400",
      "no-cache, stale-if-error=86400",
    ]
    for (index, control) in kinds.enumerated() {
      origin.serve("/\(index)", "stored", tag: "\"1\"", [("Cache-Control", control), Self.old])
      _ = try client.load("/\(index)")
      origin.serve("/\(index)", "broken", status: "500 Broken", [])
      let task = try client.load("/\(index)")
      #expect(task.status == 500 && task.bodyText == "broken" && !task.isFromCache, "\(control)")
    }
    // 501 and 404 do not count as errors.
    for status in ["501 Not Implemented", "404 Not Found"] {
      origin.serve("/answer", "stored", tag: "\"1\"", [("Cache-Control", Self.onError), Self.old])
      _ = try client.load("/answer", #","cachePolicy":"reloadIgnoringLocalCacheData""#)
      origin.serve("/answer", "no", status: status, [])
      #expect(try client.load("/answer").bodyText == "no")
    }
  }

  @Test(arguments: ["refused", "dropped"]) func `stale entry replaces a lost origin`(_ way: String) throws {
    let relay = TCPRelay(to: origin.port)
    origin.serve("/e", "stored", tag: "\"1\"", [("Cache-Control", Self.onError), Self.old])
    let url = "http://127.0.0.1:\(relay.port)/e"
    func load() throws -> JSONValue {
      try place.run(url, kind: "data", session: client.session, query: "?include=body")
    }
    #expect(try !load().isFromCache)
    relay.cut()
    if way == "refused" { relay.redirect(to: 1) } else { origin.on("/e") { _, _ in false } }
    let task = try load()
    #expect(task["error"] == .null && task.isFromCache && task.bodyText == "stored" && task.status == 200)
    // The entry is revalidated as soon as the origin is reachable again.
    relay.redirect(to: origin.port)
    origin.serve("/e", "new", tag: "\"2\"", CacheOrigin.fresh)
    #expect(try load().bodyText == "new")
  }

  // MARK: Stale while revalidating

  @Test func `stale entry is served while it is revalidated`() throws {
    let control = [("Cache-Control", "max-age=10, stale-while-revalidate=86400"), Self.old]
    origin.serve("/swr", "old", tag: "\"1\"", control)
    _ = try client.load("/swr")
    let gate = Gate()
    origin.on("/swr") { _, socket in
      gate.wait()
      try socket.write(
        TestOrigin.reply("200 OK", Array("newer".utf8), CacheOrigin.fresh + [("ETag", "\"2\"")]))
      return true
    }
    for _ in 0..<5 {
      let task = try client.load("/swr")
      #expect(task.isFromCache && task.bodyText == "old")
      #expect(try fetchTypes(task) == ["localCache"])
    }
    gate.open()
    let cache = try place.poll("/v1/sessions/\(client.session)/cache") {
      $0["entries"]?.elements?.first?["size"]?.integer == 5
    }
    #expect(cache["countOfEntries"]?.integer == 1)
    let next = try client.load("/swr")
    #expect(next.isFromCache && next.bodyText == "newer")
    #expect(origin.requests("/swr").map { $0["If-None-Match"] } == [nil, "\"1\""])
    // The revalidation creates no task.
    let tasks = try place.call("GET", "/v1/sessions/\(client.session)/tasks").json["items"]?.elements
    #expect(tasks?.count == 7)
  }

  // MARK: HEAD

  @Test func `HEAD is served from the entry of GET`() throws {
    origin.serve("/h", "hello", CacheOrigin.fresh + [("X-Own", "1")])
    _ = try client.load("/h")
    let task = try client.load("/h", #","method":"HEAD""#)
    #expect(task.isFromCache && task.status == 200 && task["body"]?["size"]?.integer ?? 0 == 0)
    #expect(task.field("Content-Length") == "5" && task.field("X-Own") == "1")
    #expect(origin.count("/h") == 1)
    #expect(try client.load("/h").bodyText == "hello")
  }

  @Test func `HEAD freshens or invalidates the entry of GET`() throws {
    origin.serve("/h", "hello", CacheOrigin.stale + [("ETag", "\"1\"")])
    _ = try client.load("/h")
    origin.serve("/h", "hello", CacheOrigin.fresh + [("ETag", "\"1\""), ("X-Own", "new")])
    #expect(try !client.load("/h", #","method":"HEAD""#).isFromCache)
    let hit = try client.load("/h")
    #expect(hit.isFromCache && hit.field("X-Own") == "new" && hit.bodyText == "hello")
    origin.serve("/h", "other", CacheOrigin.fresh + [("ETag", "\"2\"")])
    _ = try client.load("/h", #","method":"HEAD","cachePolicy":"reloadIgnoringLocalCacheData""#)
    #expect(try client.load("/h").bodyText == "other")
    #expect(origin.requests("/h").map(\.method) == ["GET", "HEAD", "HEAD", "GET"])
  }
}
