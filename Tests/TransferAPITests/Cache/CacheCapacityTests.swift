import Foundation
import JSON
import TestSupport
import Testing

/// The capacity of a session's cache, and the order of eviction (URLCache).
@Suite(.serialized, .blocking, .sharing) struct CacheCapacityTests {
  private let place: InProcessAPI
  private let origin = CacheOrigin()

  init() throws { place = try .ofSuite() }

  private func client(_ memory: Int, _ disk: Int) throws -> CacheClient {
    let cache = #"{"urlCache":{"memoryCapacity":\#(memory),"diskCapacity":\#(disk)}}"#
    return try CacheClient(place, origin, session: place.session(cache))
  }

  private func ephemeral(_ configuration: String = "{}") throws -> HTTPReply {
    try place.call("POST", "/v1/sessions", #"{"type":"ephemeral","configuration":\#(configuration)}"#)
  }

  private func isHit(_ client: CacheClient, _ path: String) throws -> Bool {
    _ = try client.load(path)
    return try client.load(path).isFromCache
  }

  private func files(_ client: CacheClient) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: client.directory)) ?? []
  }

  private func sizeOfFiles(_ client: CacheClient) throws -> Int64 {
    try files(client).reduce(0) {
      let attributes = try FileManager.default.attributesOfItem(atPath: client.directory + "/" + $1)
      return $0 + ((attributes[.size] as? Int64) ?? 0)
    }
  }

  /// A single response may use a twentieth of the capacity, its head included.
  @Test func `response above a twentieth of the capacity is not stored`() throws {
    for (memory, disk) in [(0, 2_000_000), (4_000_000, 2_000_000), (2_000_000, 0)] {
      let client = try client(memory, disk)
      for (size, isStored) in [(98_000, true), (100_000, false), (100_001, false), (500_000, false)] {
        let path = "/\(memory)-\(disk)-\(size)"
        origin.serve(path, Pattern.bytes(size), CacheOrigin.fresh)
        #expect(try isHit(client, path) == isStored, "\(path)")
      }
      #expect(try client.cache["countOfEntries"]?.integer == 1)
    }
  }

  /// A response that is too large for the cache still invalidates the entry that it replaces.
  @Test func `response that is too large drops the entry it replaces`() throws {
    let client = try client(0, 2_000_000)
    origin.serve("/x", "old", tag: "\"1\"", CacheOrigin.stale)
    _ = try client.load("/x")
    origin.serve("/x", Pattern.bytes(200_000), CacheOrigin.fresh)
    _ = try client.load("/x")
    #expect(try client.cache["countOfEntries"]?.integer == 0)
  }

  @Test func `least recently used entry is evicted first`() throws {
    let client = try client(0, 400_000)
    let paths = (0..<40).map { "/\($0)" }
    for path in paths { origin.serve(path, Pattern.bytes(15_000), CacheOrigin.fresh) }
    for path in paths[..<20] { _ = try client.load(path) }
    #expect(try client.paths == paths[..<20].reversed())
    for path in ["/0", "/5"] { #expect(try client.load(path).isFromCache) }
    #expect(try Array(client.paths.prefix(3)) == ["/5", "/0", "/19"])
    for path in paths[20...] { _ = try client.load(path) }
    let left = try client.paths
    #expect(left.count < 27 && left.count > 20)
    let usage = try client.cache
    #expect(usage["countOfEntries"]?.integer == Int64(left.count))
    #expect(try #require(usage["currentDiskUsage"]?.integer) <= 400_000)
    // The paths in order of their last use.
    let order = paths[1..<5] + paths[6..<20] + ["/0", "/5"] + paths[20...]
    #expect(left == order.suffix(left.count).reversed())
    let gone = order.dropLast(left.count)
    for path in gone.prefix(3) { #expect(try !client.load(path).isFromCache, "\(path)") }
  }

  @Test func `disk usage equals the size of the files`() throws {
    let client = try client(1_000_000, 20_000_000)
    let before = try client.cache
    #expect(before["memoryCapacity"]?.integer == 1_000_000 && before["diskCapacity"]?.integer == 20_000_000)
    #expect(before["currentDiskUsage"]?.integer == 0 && before["currentMemoryUsage"]?.integer == 0)
    let sizes = [0, 1, 1000, 40_000, 100_000, 900_000]
    for size in sizes {
      origin.serve("/\(size)", Pattern.bytes(size), CacheOrigin.fresh)
      _ = try client.load("/\(size)")
    }
    // A task ends before its entry is on disk.
    let usage = try place.poll("/v1/sessions/\(client.session)/cache") {
      $0["entries"]?.elements?.allSatisfy { $0["isOnDisk"]?.bool == true } == true
    }
    let total = Int64(sizes.reduce(0, +))
    let disk = try #require(usage["currentDiskUsage"]?.integer)
    #expect(disk >= total && disk < total + 10_000)
    #expect(try disk == sizeOfFiles(client))
    #expect(files(client).count == 2 * sizes.count)
    #expect(try #require(usage["currentMemoryUsage"]?.integer) <= 1_000_000)
    for entry in try #require(usage["entries"]?.elements) {
      let size = entry["url"]?.string?.split(separator: "/").last.flatMap { Int64($0) }
      #expect(entry["size"]?.integer == size && entry["status"]?.integer == 200)
      #expect(entry["isOnDisk"]?.bool == true && entry["isComplete"]?.bool == true)
    }
    #expect(try place.call("DELETE", "/v1/sessions/\(client.session)/cache").status == 204)
    let empty = try client.cache
    #expect(empty["currentDiskUsage"]?.integer == 0 && empty["currentMemoryUsage"]?.integer == 0)
    #expect(empty["countOfEntries"]?.integer == 0 && empty["entries"]?.elements == [])
    #expect(files(client).isEmpty)
    for size in sizes { #expect(try !client.load("/\(size)").isFromCache) }
  }

  @Test func `list of entries honours its limit`() throws {
    let client = try client(0, 4_000_000)
    for number in 0..<5 {
      origin.serve("/\(number)", "x", CacheOrigin.fresh)
      _ = try client.load("/\(number)")
    }
    let path = "/v1/sessions/\(client.session)/cache"
    let some = try place.call("GET", path + "?limit=2").json
    #expect(some["entries"]?.elements?.count == 2 && some["countOfEntries"]?.integer == 5)
    for query in ["limit=0", "limit=x", "size=1"] {
      #expect(try place.call("GET", path + "?" + query).status == 400, "\(query)")
    }
    #expect(try place.call("GET", "/v1/sessions/ses_none/cache").status == 404)
  }

  @Test func `session without a cache stores nothing`() throws {
    for configuration in [#"{"urlCache":null}"#, #"{"urlCache":{"memoryCapacity":0,"diskCapacity":0}}"#] {
      let client = try CacheClient(place, origin, session: place.session(configuration))
      origin.serve("/n", "none", CacheOrigin.fresh)
      #expect(try !isHit(client, "/n"))
      #expect(try client.load("/n", #","cachePolicy":"returnCacheDataDontLoad""#).errorCode == -2000)
      #expect(try client.load("/n", #","cachePolicy":"returnCacheDataElseLoad""#).bodyText == "none")
      let usage = try client.cache
      for member in ["memoryCapacity", "currentMemoryUsage", "diskCapacity", "currentDiskUsage"] {
        #expect(usage[member]?.integer == 0, "\(member)")
      }
      #expect(try place.call("DELETE", "/v1/sessions/\(client.session)/cache").status == 204)
      #expect(!FileManager.default.fileExists(atPath: client.directory))
      let types = try place.story(of: client.load("/n").id).map(\.type)
      #expect(!types.contains("dataTask.willCacheResponse"))
    }
  }

  @Test func `cache without a disk capacity stores in memory`() throws {
    let client = try client(2_000_000, 0)
    origin.serve("/m", Pattern.bytes(50_000), CacheOrigin.fresh)
    #expect(try isHit(client, "/m"))
    let entry = try client.cache["entries"]?.elements?.first
    #expect(entry?["isInMemory"]?.bool == true && entry?["isOnDisk"]?.bool == false)
    #expect(files(client).isEmpty)
  }

  @Test func `ephemeral session writes nothing to disk`() throws {
    let session = try ephemeral().json.id
    let client = try CacheClient(place, origin, session: session)
    for size in [1000, 100_000, 200_000] {
      origin.serve("/\(size)", Pattern.bytes(size), CacheOrigin.fresh)
      #expect(try isHit(client, "/\(size)"), "\(size)")
      let hit = try client.load("/\(size)")
      #expect(try place.body(of: hit.id) == Pattern.bytes(size))
    }
    let usage = try client.cache
    #expect(usage["diskCapacity"]?.integer == 0 && usage["currentDiskUsage"]?.integer == 0)
    #expect(try #require(usage["currentMemoryUsage"]?.integer) >= 301_000)
    #expect(
      usage["entries"]?.elements?.allSatisfy {
        $0["isInMemory"]?.bool == true && $0["isOnDisk"]?.bool == false
      }
        == true)
    #expect(files(client).isEmpty && !FileManager.default.fileExists(atPath: client.directory))
    let wrong = try ephemeral(#"{"urlCache":{"diskCapacity":1000}}"#)
    #expect(wrong.status == 400 && wrong.text.contains("/configuration/urlCache/diskCapacity"))
    #expect(try ephemeral(#"{"urlCache":{"memoryCapacity":1000,"diskCapacity":0}}"#).status == 201)
  }

  /// The reset empties the cache, and the deletion of the session deletes the directory.
  @Test func `cache is deleted with its session`() throws {
    let client = try client(1_000_000, 20_000_000)
    origin.serve("/s", "s", CacheOrigin.fresh)
    #expect(try isHit(client, "/s"))
    let path = "/v1/sessions/\(client.session)"
    #expect(try place.call("POST", path + "/reset").status < 300)
    #expect(try client.cache["countOfEntries"]?.integer == 0 && files(client).isEmpty)
    #expect(try isHit(client, "/s"))
    #expect(try place.call("POST", path + "/invalidate").status == 202)
    _ = try place.poll(path) { $0["state"]?.string == "invalid" }
    #expect(try place.call("DELETE", path).status == 204)
    #expect(Patience.wait { FileManager.default.fileExists(atPath: client.directory) })
  }
}
