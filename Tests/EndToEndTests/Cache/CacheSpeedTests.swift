import Foundation
import JSON
import TestSupport
import Testing

/// The cost of a cache hit compared with a load from nginx on loopback. `Benchmarks/measuring/cache.py` measures it.
/// These tests check only limits for a busy machine.
@Suite(.serialized, .blocking) struct CacheSpeedTests {
  private static let size = 100 << 10
  private static let count = 150
  private let ferry: FerryProcess
  private let nginx: NginxServer

  init() throws {
    ferry = try FerryProcess()
    nginx = try NginxServer(files: ["body.bin": Self.size], isCacheable: true)
  }

  /// Runs `count` tasks as one batch and returns the service's CPU time in seconds.
  private func run(_ session: String, isHit: Bool) throws -> Double {
    let stream = try ferry.events("/v1/sessions/\(session)/events?types=task.didComplete")
    let task =
      #"{"kind":"data","resume":true,"request":{"url":"\#(nginx.url(.plain, "/body.bin"))","#
      + #""cachePolicy":"returnCacheDataElseLoad"}}"#
    let gauge = ProcessUsage(ferry.processIdentifier)
    let before = try gauge.processorTime()
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks",
      Array(repeating: task, count: Self.count).joined(separator: "\n"),
      [("Content-Type", "application/x-ndjson")])
    for _ in 0..<Self.count {
      let event = try #require(try stream.next())
      #expect(event.data["error"] == .null && event.data["body"]?["size"]?.integer == Int64(Self.size))
    }
    let spent = try gauge.processorTime() - before
    let last = try ferry.task(try #require(reply.lines.last).id)
    #expect(last.isFromCache == isHit)
    #expect(try ferry.body(of: last.id) == NginxServer.contents(Self.size))
    return spent
  }

  @Test func `hit costs less CPU time than a load`() throws {
    let cached = try ferry.session()
    let uncached = try ferry.session(#"{"urlCache":null}"#)
    let url = nginx.url(.plain, "/body.bin")
    #expect(try !ferry.run(url, kind: "data", session: cached).isFromCache)
    var (hits, loads) = (0.0, 0.0)
    for _ in 0..<3 {
      hits += try run(cached, isHit: true)
      loads += try run(uncached, isHit: false)
    }
    #expect(hits < loads, "\(hits) s, \(loads) s")
    #expect(nginx.log(atLeast: 1 + 3 * Self.count).count == 1 + 3 * Self.count)
  }

  /// Returns the total duration of the responses in seconds, from the first to the last date of their transactions. The
  /// dates are whole milliseconds, but their mean over many is finer. The slowest twentieth is left out, because other
  /// processes delayed it.
  private func loads(_ session: String, _ count: Int) throws -> Double {
    let dates = ISO8601DateFormatter()
    dates.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    var times: [Double] = []
    for _ in 0..<count {
      let task = try ferry.run(nginx.url(.plain, "/body.bin"), kind: "data", session: session)
      let transaction = try #require(
        try ferry.metrics(of: task.id)["transactionMetrics"]?.elements?.first)
      let ends = try ["fetchStartDate", "responseEndDate"].map { name in
        try #require(transaction[name]?.string.flatMap { dates.date(from: $0) })
      }
      times.append(ends[1].timeIntervalSince(ends[0]))
    }
    return times.sorted().dropLast(count / 20).reduce(0, +)
  }

  @Test func `hit is at least five times faster than a load`() throws {
    let cached = try ferry.session(#"{"requestCachePolicy":"returnCacheDataElseLoad"}"#)
    let uncached = try ferry.session(FerryProcess.uncached)
    _ = try ferry.run(nginx.url(.plain, "/body.bin"), kind: "data", session: cached)
    let (hits, loads) = (try loads(cached, 400), try loads(uncached, 400))
    #expect(hits * 5 <= loads, "\(hits) s, \(loads) s")
  }
}
