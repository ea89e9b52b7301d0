import JSON
import TestSupport
import Testing

/// Which responses are stored, and which requests invalidate them (RFC 9111 §3 and §4.4).
@Suite(.serialized, .blocking, .sharing) struct CacheStorabilityTests {
  private let place: InProcessAPI
  private let origin = CacheOrigin()
  private let client: CacheClient

  init() throws {
    place = try .ofSuite()
    client = try CacheClient(place, origin)
  }

  /// Returns whether the second of two equal requests was answered from the cache.
  private func isHit(_ path: String, _ request: String = "") throws -> Bool {
    let bodies = try (0..<2).map { _ in try client.load(path, request) }
    #expect(bodies[0].bodyText == bodies[1].bodyText && !bodies[0].isFromCache)
    return bodies[1].isFromCache
  }

  // MARK: Storage

  @Test func `response is stored only if its header fields allow it`() throws {
    let long = "Thu, 01 Jan 2015 00:00:00 GMT"
    let kinds: [([(String, String)], Bool)] = [
      ([("Cache-Control", "max-age=86400")], true), ([("Cache-Control", "private, max-age=86400")], true),
      ([("Cache-Control", "public, max-age=86400")], true), ([("Cache-Control", "no-store")], false),
      ([("Cache-Control", "max-age=86400, no-store")], false),
      ([("Cache-Control", "s-maxage=60")], false), ([], false), ([("Pragma", "no-cache")], false),
      ([("Expires", "Thu, 01 Jan 2037 00:00:00 GMT")], true), ([("Expires", "0")], false),
      ([("Expires", "0"), ("Cache-Control", "max-age=86400")], true),
      // The heuristic freshness is a tenth of the age, which is years.
      ([("Last-Modified", long)], true), ([("Last-Modified", long), ("Cache-Control", "no-store")], false),
      ([("Cache-Control", "max-age=86400"), ("Vary", "*")], false),
      ([("Cache-Control", "max-age=\"6000\"")], true), ([("Cache-Control", "MAX-AGE=86400")], true),
      ([("Cache-Control", "max-age=-1")], false), ([("Cache-Control", "max-age=86400, max-age=0")], false),
    ]
    for (index, (fields, expected)) in kinds.enumerated() {
      origin.serve("/\(index)", "body", fields)
      #expect(try isHit("/\(index)") == expected, "\(fields)")
      #expect(origin.count("/\(index)") == (expected ? 1 : 2), "\(fields)")
    }
  }

  @Test func `no store in the request forbids storage`() throws {
    origin.serve("/r", "body", CacheOrigin.fresh)
    #expect(try !isHit("/r", #","headers":{"Cache-Control":"no-store"}"#))
    #expect(try client.cache["countOfEntries"]?.integer == 0)
  }

  /// URLCache stores successful responses only.
  @Test func `only successful responses are stored`() throws {
    let statuses = [
      "200 OK", "203 Non-Authoritative Information", "300 Multiple Choices", "404 Not Found", "410 Gone",
      "500 Broken",
    ]
    for status in statuses {
      let path = "/" + status.prefix(3)
      origin.serve(path, "body", status: status, CacheOrigin.fresh)
      #expect(try isHit(path) == status.hasPrefix("2"), "\(status)")
    }
  }

  @Test func `responses to other methods are not stored`() throws {
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
      origin.serve("/\(method)", "body", CacheOrigin.fresh)
      #expect(try !isHit("/\(method)", #","method":"\#(method)""#), "\(method)")
    }
    #expect(try client.cache["countOfEntries"]?.integer == 0)
  }

  /// The cache is private (RFC 9111 §3.5), so it may store responses to requests with credentials.
  @Test func `response to credentials is stored for the session only`() throws {
    origin.serve("/a", "secret", [("Cache-Control", "private, max-age=86400")])
    #expect(try isHit("/a", #","headers":{"Authorization":"Bearer x"}"#))
    let other = try CacheClient(place, origin)
    #expect(try !other.load("/a").isFromCache)
    #expect(
      origin.count("/a") == 2 && origin.requests("/a").map { $0["Authorization"] } == ["Bearer x", nil])
  }

  @Test func `responses that vary by credentials are kept apart`() throws {
    origin.on("/who") { request, socket in
      try socket.write(
        TestOrigin.reply(
          "200 OK", Array((request["Authorization"] ?? "nobody").utf8),
          CacheOrigin.fresh + [("Vary", "Authorization")]))
      return true
    }
    for round in 0...1 {
      for name in ["a", "b"] {
        let task = try client.load("/who", fields: ["Authorization": "Bearer \(name)"])
        #expect(task.bodyText == "Bearer \(name)" && task.isFromCache == (round == 1))
      }
      let nobody = try client.load("/who")
      #expect(nobody.bodyText == "nobody" && nobody.isFromCache == (round == 1))
    }
  }

  @Test func `must revalidate is honoured`() throws {
    origin.serve(
      "/must", "body", tag: "\"1\"", [("Cache-Control", "max-age=10, must-revalidate"), ("Age", "100")],
      confirming: [("Age", "100")])
    _ = try client.load("/must")
    _ = try client.load("/must", fields: ["Cache-Control": "max-stale=100000"])
    #expect(origin.requests("/must").map { $0["If-None-Match"] } == [nil, "\"1\""])
    origin.on("/must") { _, _ in false }
    #expect(try client.load("/must", fields: ["Cache-Control": "stale-if-error=100000"]).errorCode != nil)
  }

  /// The heuristic freshness is a tenth of the time since the last change.
  @Test func `heuristic freshness ends after a tenth of the age`() throws {
    let fields = [
      ("Date", "Sat, 01 Nov 2025 12:00:00 GMT"), ("Last-Modified", "Sat, 01 Nov 2025 11:00:00 GMT"),
    ]
    origin.serve("/guess", "old", fields)
    #expect(try !isHit("/guess"))
    #expect(origin.requests("/guess")[1]["If-Modified-Since"] == "Sat, 01 Nov 2025 11:00:00 GMT")
  }

  /// A download's file belongs to its task. The cache serves downloads, but does not store them.
  @Test func `downloads are served from the cache but not stored`() throws {
    for size in [1024, 100 << 10, 1_000_000] {
      let bytes = Pattern.bytes(size)
      origin.serve("/\(size)", bytes, CacheOrigin.fresh)
      for _ in 0..<2 { #expect(try !client.load("/\(size)", kind: "download").isFromCache) }
      #expect(try !client.load("/\(size)").isFromCache)
      let served = try client.load("/\(size)", kind: "download")
      #expect(served.isFromCache && served["error"] == .null)
      let types = try place.story(of: served.id).map(\.type).filter { $0 != "task.didChangeState" }
      #expect(
        types == [
          "task.didCreate", "downloadTask.didFinishDownloading", "task.didFinishCollectingMetrics",
          "task.didComplete",
        ])
      #expect(try place.body(of: served.id) == bytes)
      // Moving the file away leaves the cache entry intact.
      let moved = try place.call("POST", "/v1/files", #"{"fromTask":"\#(served.id)"}"#)
      #expect(moved.status == 201)
      #expect(try place.call("DELETE", "/v1/files/\(moved.json.id)").status == 204)
      #expect(try place.body(of: client.load("/\(size)").id) == bytes)
      #expect(origin.count("/\(size)") == 3)
    }
  }

  /// Deleting one task's body affects neither the other tasks nor the cache, and vice versa.
  @Test func `body of a task is independent of the cached body`() throws {
    let bytes = Pattern.bytes(100 << 10)
    origin.serve("/b", bytes, CacheOrigin.fresh)
    let ids = try (0..<3).map { _ in try client.load("/b").id }
    #expect(try place.call("DELETE", "/v1/tasks/\(ids[1])/body").status == 204)
    #expect(try place.call("DELETE", "/v1/sessions/\(client.session)/cache").status == 204)
    #expect(try place.body(of: ids[0]) == bytes && place.body(of: ids[2]) == bytes)
    #expect(try place.call("GET", "/v1/tasks/\(ids[1])/body").status == 404)
    #expect(try !client.load("/b").isFromCache)
  }

  // MARK: Invalidation

  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH"]) func `unsafe request drops entries`(_ method: String)
    throws
  {
    let other = CacheOrigin()
    let paths = ["/thing", "/where", "/content", "/apart"]
    for path in paths { origin.serve(path, path, CacheOrigin.fresh) }
    other.serve("/where", "other", CacheOrigin.fresh)
    let otherClient = try CacheClient(place, other, session: client.session)
    for path in paths { _ = try client.load(path) }
    _ = try otherClient.load("/where")
    let change = #","method":"\#(method)""# + (method == "DELETE" ? "" : #","body":{"text":"x"}"#)
    // A failed request has changed nothing.
    origin.serve("/thing", "no", status: "500 Broken", [])
    _ = try client.load("/thing", change)
    for path in paths { #expect(try client.load(path).isFromCache, "\(path)") }
    origin.serve(
      "/thing", "ok",
      [("Location", "\(origin.url)/where"), ("Content-Location", "/content"), ("Cache-Control", "max-age=9")])
    _ = try client.load("/thing", change)
    origin.serve("/thing", "/thing", CacheOrigin.fresh)
    for path in paths { #expect(try client.load(path).isFromCache == (path == "/apart"), "\(path)") }
    // An origin cannot invalidate another origin's entries.
    origin.serve("/thing", "ok", [("Location", "\(other.url)/where")])
    _ = try client.load("/thing", change)
    #expect(try otherClient.load("/where").isFromCache)
  }

  @Test func `safe methods invalidate nothing`() throws {
    origin.serve("/safe", "body", CacheOrigin.fresh)
    _ = try client.load("/safe")
    _ = try client.load("/safe", #","method":"OPTIONS""#)
    #expect(try client.load("/safe").isFromCache)
  }

  /// An upload with PUT invalidates like any other PUT.
  @Test func `upload invalidates the entry it replaces`() throws {
    origin.serve("/up", "old", CacheOrigin.fresh)
    _ = try client.load("/up")
    _ = try client.load("/up", kind: "upload", #","method":"PUT","body":{"text":"new"}"#)
    #expect(try !client.load("/up").isFromCache)
  }
}
