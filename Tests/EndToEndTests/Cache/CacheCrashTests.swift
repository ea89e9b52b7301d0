import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// SIGKILL while responses are stored, served, revalidated and dropped. Each response that is served later must be
/// correct, byte for byte.
@Suite(.serialized, .blocking) struct CacheCrashTests {
  /// A resource of the origin, determined by its number.
  private struct Resource {
    let path: String
    let body: [UInt8]
    let digest: String

    init(_ number: Int, _ generator: inout SplitMix64) {
      path = "/\(number)"
      // The size is up to 900 KiB. Resources with even numbers are mostly small.
      let share = Double.random(in: 0...1, using: &generator)
      let size = Int(1024 * (number.isMultiple(of: 2) ? pow(900, share) : 1 + 899 * share)) - 8
      body = Array("\(number):".utf8) + Pattern.bytes(size, from: number * 7919)
      digest = SHA256.hash(data: body).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        .joined()
    }
  }
  private static let diskCapacity = 18_600_000
  private static let seed: UInt64 = 20_261_121
  private static let rounds = 10

  private let origin = CacheOrigin()
  private let resources: [String: Resource]

  init() {
    var generator = SplitMix64(seed: Self.seed)
    let all = (0..<80).map { Resource($0, &generator) }
    resources = Dictionary(uniqueKeysWithValues: all.map { ($0.path, $0) })
    let controls = ["max-age=600", "no-cache", "max-age=1, stale-while-revalidate=600"]
    for (number, resource) in all.enumerated() {
      let tag = "\"\(number)\""
      let fields = [("ETag", tag), ("Cache-Control", controls[number % 3]), ("Age", "\(number % 5)")]
      let reply = TestOrigin.reply("200 OK", resource.body, fields)
      origin.on(resource.path) { request, socket in
        let isKnown = request["If-None-Match"] == tag && request.line.utf8.count.isMultiple(of: 2)
        try socket.write(isKnown ? CacheOrigin.confirmation(fields) : reply)
        return true
      }
    }
  }

  @Test func `responses served after a crash are correct`() throws {
    let directory = TemporaryDirectory.make("cache-crash")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var generator = SplitMix64(seed: Self.seed)
    var session = ""
    var (served, stored) = (0, 0)
    for round in 0..<Self.rounds {
      let ferry = try FerryProcess(directory: directory)
      if session.isEmpty {
        session = try ferry.session(
          #"{"urlCache":{"memoryCapacity":1000000,"diskCapacity":\#(Self.diskCapacity)},"#
            + #""httpMaximumConnectionsPerHost":8}"#)
      }
      let client = try CacheClient(ferry, origin, session: session)
      stored += try check(client, round)
      served += try work(ferry, client, &generator, round)
      ferry.kill()
    }
    let ferry = try FerryProcess(directory: directory)
    stored += try check(CacheClient(ferry, origin, session: session), Self.rounds)
    // Otherwise the test has checked too little.
    #expect(stored > 100 && served > 20, "\(stored) \(served)")
    let known = try tasks(ferry, session)
    try Patience.wait { try !bodies(directory).isSubset(of: known) }
    #expect(try bodies(directory).isSubset(of: known))
  }

  /// Runs many tasks at once until a random number has ended, and checks their bodies.
  /// - Returns: The number of tasks that were served from the cache.
  private func work(
    _ ferry: FerryProcess, _ client: CacheClient, _ generator: inout SplitMix64, _ round: Int
  ) throws -> Int {
    let lines = (0..<80).map { _ in
      let path = "/\(Int.random(in: 0..<resources.count, using: &generator))"
      let kind = Int.random(in: 0..<8, using: &generator) == 0 ? "download" : "data"
      return #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(origin.url)\#(path)"}}"#
    }
    let stream = try ferry.events("/v1/sessions/\(client.session)/events?types=task.didComplete")
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(client.session)/tasks", lines.joined(separator: "\n"),
      [("Content-Type", "application/x-ndjson")])
    #expect(reply.status == 200)
    var ended: [String] = []
    for _ in 0..<Int.random(in: 1..<75, using: &generator) {
      ended.append(try #require(stream.next()?.task))
    }
    var served = 0
    for id in ended {
      let task = try ferry.task(id)
      let resource = try self.resource(of: task)
      #expect(task["error"] == .null && task.sha256 == resource.digest, "round \(round): \(task.text)")
      if task.isFromCache { served += 1 }
    }
    if Int.random(in: 0..<4, using: &generator) == 0 {
      // Dropped just before the kill, if at all.
      let drop = try HTTPClient(port: ferry.port)
      try drop.socket.write(
        "DELETE /v1/sessions/\(client.session)/cache HTTP/1.1\r\nHost: 127.0.0.1:\(ferry.port)\r\n\r\n")
    } else {
      _ = try ferry.call("POST", "/v1/sessions/\(client.session)/tasks", lines[0])
    }
    return served
  }

  private func resource(of task: JSONValue) throws -> Resource {
    let url = task["originalRequest"]?["url"]?.string ?? task["url"]?.string ?? ""
    return try #require(resources[String(url.dropFirst(origin.url.count))])
  }

  /// Expects that each stored response is served correctly, and that no other files exist.
  /// - Returns: The number of stored responses.
  private func check(_ client: CacheClient, _ round: Int) throws -> Int {
    let ferry = client.ferry
    let path = "/v1/sessions/\(client.session)/cache?limit=500"
    let entries = try #require(ferry.call("GET", path).json["entries"]?.elements)
    for entry in entries {
      let resource = try resource(of: entry)
      #expect(entry["isComplete"]?.bool == true && entry["size"]?.integer == Int64(resource.body.count))
      let task = try client.load(resource.path, #","cachePolicy":"returnCacheDataDontLoad""#)
      #expect(task["error"] == .null && task.isFromCache, "round \(round): \(task.text)")
      #expect(task.sha256 == resource.digest && task.field("ETag") == "\"\(resource.path.dropFirst())\"")
      #expect(try ferry.body(of: task.id) == resource.body, "round \(round): \(resource.path)")
    }
    let usage = try ferry.call("GET", path).json
    #expect(usage["countOfEntries"]?.integer == Int64(entries.count))
    let disk = try #require(usage["currentDiskUsage"]?.integer)
    #expect(disk <= Int64(Self.diskCapacity) && usage["currentMemoryUsage"]?.integer ?? .max <= 1_000_000)
    let files = try FileManager.default.contentsOfDirectory(atPath: client.directory)
    let sizes = try files.map {
      try FileManager.default.attributesOfItem(atPath: client.directory + "/" + $0)[.size] as? Int64 ?? 0
    }
    #expect(files.count == 2 * entries.count && sizes.reduce(0, +) == disk, "round \(round): \(files)")
    return entries.count
  }

  /// Returns the tasks whose bodies are files.
  private func bodies(_ directory: String) throws -> Set<String> {
    try BodyFiles.names(in: directory).subtracting(["set-aside"])
  }

  private func tasks(_ ferry: FerryProcess, _ session: String) throws -> Set<String> {
    var (all, next) = (Set<String>(), "")
    repeat {
      let page = try ferry.call("GET", "/v1/sessions/\(session)/tasks?limit=500" + next).json
      all.formUnion(page["items"]?.elements?.map(\.id) ?? [])
      next = page["nextCursor"]?.string.map { "&cursor=\($0)" } ?? ""
    } while !next.isEmpty
    return all
  }
}
