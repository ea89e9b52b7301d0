import JSON
import Synchronization
import TestSupport
import Testing

/// Ranges of stored responses, and parts that are combined to a whole (RFC 9111 §3.3 and §3.4).
@Suite(.serialized, .blocking, .sharing) struct CacheRangeTests {
  private static let body = Pattern.bytes(300_000)
  private final class Cut: Sendable { let at = Mutex<Int?>(nil) }

  private let place: InProcessAPI
  private let origin = CacheOrigin()
  private let client: CacheClient
  private let cut = Cut()

  init() throws {
    place = try .ofSuite()
    client = try CacheClient(place, origin)
  }

  /// Serves a resource with ranges. The connection breaks off at `cut`.
  private func serve(_ path: String, tag: String = "\"1\"", _ fields: [(String, String)] = CacheOrigin.fresh)
  {
    let cut = cut
    origin.on(path) { request, socket in
      let total = Self.body.count
      var (first, last) = (0, total - 1)
      let isPart = request["Range"] != nil && (request["If-Range"] ?? tag) == tag
      if isPart,
        let ends = request["Range"]?.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
      {
        first = Int(ends[0]) ?? 0
        last = Int(ends[1]) ?? last
      }
      var head = "HTTP/1.1 \(isPart ? "206 Partial Content" : "200 OK")\r\nETag: \(tag)\r\n"
      if isPart { head += "Content-Range: bytes \(first)-\(last)/\(total)\r\n" }
      head += "Content-Length: \(last - first + 1)\r\n"
      for (name, value) in fields { head += "\(name): \(value)\r\n" }
      let stop = cut.at.withLock { $0 }
      try socket.write(Array((head + "\r\n").utf8) + Self.body[first...min(last, (stop ?? total) - 1)])
      return stop == nil
    }
  }

  private func load(_ path: String, range: String) throws -> JSONValue {
    try client.load(path, fields: ["Range": "bytes=\(range)"])
  }

  // MARK: Ranges of a whole response

  @Test(arguments: [1024, 300_000, 1_000_000]) func `stored response serves ranges`(_ size: Int) throws {
    let bytes = Pattern.bytes(size)
    origin.serve("/whole", bytes, CacheOrigin.fresh + [("ETag", "\"1\""), ("Accept-Ranges", "bytes")])
    _ = try client.load("/whole")
    let ranges = [
      ("0-0", 0..<1), ("10-19", 10..<20), ("1000-", 1000..<size), ("-24", size - 24..<size),
      ("500-99999999", 500..<size), ("0-", 0..<size),
    ]
    for (range, expected) in ranges {
      let task = try load("/whole", range: range)
      #expect(task.isFromCache && task.status == 206, "\(range)")
      #expect(
        task.field("Content-Range") == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(size)")
      #expect(task.field("Content-Length") == "\(expected.count)")
      #expect(try place.body(of: task.id) == Array(bytes[expected]), "\(range)")
    }
    let beyond = try load("/whole", range: "\(size)-")
    #expect(beyond.isFromCache && beyond.status == 416 && beyond.field("Content-Range") == "bytes */\(size)")
    #expect(origin.count("/whole") == 1)
    // `If-Range` names another version, so the answer is the whole body.
    let other = try client.load("/whole", fields: ["Range": "bytes=0-9", "If-Range": #"\"2\""#])
    #expect(other["body"]?["size"]?.integer == Int64(size))
    let same = try client.load("/whole", fields: ["Range": "bytes=0-9", "If-Range": #"\"1\""#])
    #expect(same.isFromCache && same.status == 206 && same["body"]?["size"]?.integer == 10)
  }

  // MARK: Parts

  @Test func `stored part is served and completed`() throws {
    serve("/parts")
    let part = try load("/parts", range: "0-99999")
    #expect(part.status == 206 && !part.isFromCache)
    let inside = try load("/parts", range: "500-999")
    #expect(inside.isFromCache && inside.status == 206)
    #expect(inside.field("Content-Range") == "bytes 500-999/300000")
    #expect(try place.body(of: inside.id) == Array(Self.body[500..<1000]))
    #expect(origin.count("/parts") == 1)
    // A request for the whole fetches the missing rest only.
    let whole = try client.load("/parts")
    #expect(whole.status == 200 && whole["error"] == .null)
    #expect(try place.body(of: whole.id) == Self.body)
    #expect(whole.field("Content-Range") == nil && whole.field("Content-Length") == "300000")
    #expect(origin.requests("/parts").last?["Range"] == "bytes=100000-")
    #expect(origin.requests("/parts").last?["If-Range"] == "\"1\"")
    let hit = try client.load("/parts")
    #expect(hit.isFromCache && hit.status == 200)
    #expect(try place.body(of: hit.id) == Self.body)
    #expect(origin.count("/parts") == 2)
  }

  /// Neither a part with status 200 nor a `multipart/byteranges` body completes the stored part.
  @Test(arguments: ["200 OK", "206 Partial Content"]) func `unusable rest is not joined`(_ status: String)
    throws
  {
    serve("/odd")
    _ = try load("/odd", range: "0-99999")
    origin.on("/odd") { request, socket in
      var fields = CacheOrigin.fresh + [("ETag", "\"1\"")]
      guard request["Range"] != nil else {
        try socket.write(TestOrigin.reply("200 OK", Self.body, fields))
        return true
      }
      fields += [("Content-Range", "bytes 100000-299999/300000")]
      if status.hasPrefix("206") { fields += [("Content-Type", "multipart/byteranges; boundary=x")] }
      try socket.write(TestOrigin.reply(status, Array(Self.body[100_000...]), fields))
      return true
    }
    let whole = try client.load("/odd")
    #expect(whole.status == 200 && whole["error"] == .null)
    #expect(try place.body(of: whole.id) == Self.body)
    #expect(origin.requests("/odd").map { $0["Range"] } == ["bytes=0-99999", "bytes=100000-", nil])
    let again = try client.load("/odd")
    #expect(again.isFromCache && again.status == 200)
    #expect(try place.body(of: again.id) == Self.body)
  }

  @Test func `rest that must not be stored completes no entry`() throws {
    serve("/secret")
    _ = try load("/secret", range: "0-99999")
    // The request forbids storage.
    let silent = try client.load("/secret", fields: ["Cache-Control": "no-store"])
    #expect(try place.body(of: silent.id) == Self.body)
    #expect(origin.requests("/secret").map { $0["Range"] } == ["bytes=0-99999", nil])
    #expect(try client.cache["entries"]?.elements?.map { $0["isComplete"]?.bool } == [false])
    // The response forbids storage.
    serve("/secret", [("Cache-Control", "no-store, max-age=86400")])
    let whole = try client.load("/secret")
    #expect(try place.body(of: whole.id) == Self.body)
    #expect(origin.requests("/secret").dropFirst(2).map { $0["Range"] } == ["bytes=100000-", nil])
    #expect(try client.cache["countOfEntries"]?.integer == 0)
  }

  /// A part that a delegate allows in memory only never reaches the disk, even if it is joined. The delegate then
  /// decides about the whole.
  @Test func `parts allowed in memory only stay in memory`() throws {
    serve("/memory")
    let session = try place.session(delegate: #"{"caching":"ask"}"#)
    let client = try CacheClient(place, origin, session: session)
    func load(range: String?, _ policy: String) throws {
      let request = range.map { #","headers":{"Range":"bytes=\#($0)"}"# } ?? ""
      let id = try place.create(origin.url + "/memory", session: session, request: request)
      let decision = try place.decisionEvent(of: id, "dataTask.willCacheResponse").decision
      #expect(try place.answer(decision, #"{"storagePolicy":"\#(policy)"}"#).status == 200)
      #expect(try place.end(of: id)["error"] == .null)
    }
    try load(range: "0-99999", "allowedInMemoryOnly")
    try load(range: "100000-149999", "allowed")
    let joined = try client.load("/memory", fields: ["Range": "bytes=50000-149999"])
    #expect(joined.isFromCache)
    #expect(try client.cache["entries"]?.elements?.map { $0["isOnDisk"]?.bool } == [false])
    try load(range: nil, "notAllowed")
    #expect(origin.requests("/memory").last?["Range"] == nil)
  }

  @Test func `missing start of a body is fetched`() throws {
    serve("/end")
    _ = try load("/end", range: "200000-299999")
    let whole = try client.load("/end")
    #expect(whole.status == 200)
    #expect(try place.body(of: whole.id) == Self.body)
    #expect(origin.requests("/end").last?["Range"] == "bytes=0-199999")
  }

  /// Parts that touch or overlap are joined. A part never replaces a longer part of the same version.
  @Test func `parts of the same version are joined`() throws {
    serve("/join")
    for range in ["0-99999", "100000-149999", "140000-199999"] {
      #expect(try !load("/join", range: range).isFromCache, "\(range)")
    }
    let inside = try load("/join", range: "50000-199999")
    #expect(inside.isFromCache && inside.field("Content-Range") == "bytes 50000-199999/300000")
    #expect(try place.body(of: inside.id) == Array(Self.body[50_000..<200_000]))
    #expect(try !load("/join", range: "200000-").isFromCache)
    let whole = try client.load("/join")
    #expect(whole.isFromCache && whole.status == 200)
    #expect(try place.body(of: whole.id) == Self.body)
    let again = try client.load(
      "/join", #","headers":{"Range":"bytes=0-9"},"cachePolicy":"reloadIgnoringLocalCacheData""#)
    #expect(again.status == 206 && !again.isFromCache)
    #expect(try client.load("/join").isFromCache)
    #expect(origin.count("/join") == 5)
    // A part of another version replaces the entry.
    serve("/join", tag: "\"2\"")
    _ = try client.load(
      "/join", #","headers":{"Range":"bytes=0-9"},"cachePolicy":"reloadIgnoringLocalCacheData""#)
    let other = try client.load("/join")
    #expect(other.field("ETag") == "\"2\"" && origin.requests("/join").last?["Range"] == "bytes=10-")
    #expect(try place.body(of: other.id) == Self.body)
  }

  // MARK: Interrupted responses

  @Test(arguments: [1, 20_000, 100_000]) func `interrupted response is continued`(_ count: Int) throws {
    serve("/broken")
    cut.at.withLock { $0 = count }
    let broken = try client.load("/broken")
    #expect(broken.errorCode == -1005 && broken["body"] == .null)
    cut.at.withLock { $0 = nil }
    let story = try place.story(of: client.load("/broken").id)
    #expect(
      story.filter { $0.type == "dataTask.didReceiveResponse" }.map {
        $0.data["response"]?["status"]?.integer
      } == [200])
    let id = try #require(story.first?.task)
    let whole = try place.task(id)
    #expect(whole.status == 200 && whole["error"] == .null)
    #expect(whole.field("Content-Length") == "300000" && whole.field("Content-Range") == nil)
    #expect(whole["progress"]?["countOfBytesReceived"]?.integer == 300_000)
    #expect(try place.body(of: id) == Self.body)
    #expect(origin.requests("/broken").map { $0["Range"] } == [nil, "bytes=\(count)-"])
    #expect(origin.requests("/broken").last?["If-Range"] == "\"1\"")
    let hit = try client.load("/broken")
    #expect(hit.isFromCache)
    #expect(try place.body(of: hit.id) == Self.body)
    #expect(origin.count("/broken") == 2)
  }

  /// If the resource has changed, the origin sends the new version as a whole.
  @Test func `bytes of two versions are not joined`() throws {
    serve("/new")
    cut.at.withLock { $0 = 100_000 }
    _ = try client.load("/new")
    cut.at.withLock { $0 = nil }
    origin.serve("/new", "short", CacheOrigin.fresh + [("ETag", "\"2\"")])
    let task = try client.load("/new")
    #expect(task.status == 200 && task.bodyText == "short")
    #expect(try client.load("/new").isFromCache)
  }

  /// If the rest breaks off too, the entry stays a part.
  @Test func `response interrupted twice is continued twice`() throws {
    serve("/twice")
    for (count, range) in [(50_000, nil), (150_000, "bytes=50000-")] {
      cut.at.withLock { $0 = count }
      let task = try client.load("/twice")
      #expect(task.errorCode == -1005, "\(count)")
      #expect(origin.requests("/twice").last?["Range"] == range)
    }
    cut.at.withLock { $0 = nil }
    let whole = try client.load("/twice")
    #expect(whole.status == 200 && whole["error"] == .null)
    #expect(try place.body(of: whole.id) == Self.body)
    #expect(origin.requests("/twice").map { $0["Range"] } == [nil, "bytes=50000-", "bytes=150000-"])
  }

  /// A body without a strong validator cannot be continued.
  @Test func `interrupted response with a weak validator is not kept`() throws {
    for (path, tag) in [("/weak", "W/\"1\"")] {
      serve(path, tag: tag)
      cut.at.withLock { $0 = 100_000 }
      _ = try client.load(path)
      cut.at.withLock { $0 = nil }
      let whole = try client.load(path)
      #expect(try place.body(of: whole.id) == Self.body)
      #expect(origin.requests(path).allSatisfy { $0["Range"] == nil })
    }
  }

  /// Several tasks request the whole at the same time.
  @Test func `several tasks may continue the same part at once`() throws {
    serve("/many")
    cut.at.withLock { $0 = 100_000 }
    _ = try client.load("/many")
    cut.at.withLock { $0 = nil }
    let ids = try (0..<8).map { _ in try place.create(origin.url + "/many", session: client.session) }
    for id in ids {
      let task = try place.end(of: id)
      #expect(task.status == 200 && task["error"] == .null)
      #expect(try place.body(of: id) == Self.body)
    }
  }
}
