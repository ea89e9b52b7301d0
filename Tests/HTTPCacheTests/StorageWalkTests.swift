import Foundation
import Glibc
import HTTPFields
import JSON
import TestSupport
import Testing
import TransferModel

@testable import HTTPCache

/// Random use of a cache, compared with the simplest possible model.
@Suite(.serialized, .blocking) struct StorageWalkTests {
  private static let memoryCapacity: Int64 = 14_000
  private static let diskCapacity: Int64 = 60_000

  private struct Model {
    struct Entry {
      var response: CachedResponse
      let bytes: [UInt8]
      let isOnDisk: Bool
      var isInMemory: Bool
      var touched: Timestamp

      var metaSize: Int64 { Int64(response.json.count) }
      var diskCost: Int64 { isOnDisk ? response.size + metaSize : 0 }
      var memoryCost: Int64 {
        isInMemory ? response.size + (isOnDisk ? 0 : metaSize) : 0
      }
    }
    /// The entries in order of their last use. The most recently used entry is the last.
    var entries: [Entry] = []
    var memoryOrder: [String] = []

    var diskUsed: Int64 { entries.reduce(0) { $0 + $1.diskCost } }
    var memoryUsed: Int64 { entries.reduce(0) { $0 + $1.memoryCost } }

    func index(_ id: String) -> Int? { entries.firstIndex { $0.response.id == id } }

    mutating func remove(url: String) {
      entries.removeAll { $0.response.url == url }
      forget()
    }

    mutating func forget() {
      memoryOrder = memoryOrder.filter { id in index(id).map { entries[$0].isInMemory } ?? false }
    }

    mutating func store(_ response: CachedResponse, _ bytes: [UInt8], onDisk: Bool, now: Timestamp) -> Bool {
      remove(url: response.url)
      let limit = (onDisk ? diskCapacity : memoryCapacity) / 20
      let cost = response.size + Int64(response.json.count)
      guard cost <= limit else { return false }
      let isSmall = !onDisk || response.size <= memoryCapacity / 20
      entries.append(
        Entry(response: response, bytes: bytes, isOnDisk: onDisk, isInMemory: isSmall, touched: now))
      if isSmall { memoryOrder.append(response.id) }
      makeRoom()
      return true
    }

    mutating func makeRoom() {
      while memoryUsed > memoryCapacity, let place = index(memoryOrder[0]) {
        if entries[place].isOnDisk { entries[place].isInMemory = false } else { entries.remove(at: place) }
        forget()
      }
      while diskUsed > diskCapacity, let place = entries.firstIndex(where: \.isOnDisk) {
        entries.remove(at: place)
        forget()
      }
    }

    mutating func use(_ id: String, now: Timestamp) {
      guard let place = index(id) else { return }
      var entry = entries.remove(at: place)
      if now.since(entry.touched) >= 60 { entry.touched = now }
      entries.append(entry)
      if memoryOrder.contains(id) { memoryOrder = memoryOrder.filter { $0 != id } + [id] }
    }

    mutating func read(_ id: String, now: Timestamp) {
      use(id, now: now)
      guard let place = index(id), !entries[place].isInMemory,
        entries[place].response.size <= memoryCapacity / 20
      else { return }
      entries[place].isInMemory = true
      memoryOrder.append(id)
      makeRoom()
    }

    mutating func update(_ response: CachedResponse, now: Timestamp) {
      use(response.id, now: now)
      guard let place = index(response.id) else { return }
      entries[place].response = response
      entries[place].touched = now
      makeRoom()
    }

    mutating func reopen() {
      entries.removeAll { !$0.isOnDisk }
      entries.sort { ($0.touched, $0.response.id) < ($1.touched, $1.response.id) }
      for index in entries.indices { entries[index].isInMemory = false }
      memoryOrder = []
    }

    var list: [CacheUsage.Entry] {
      let newest = entries.reversed()
      let others = memoryOrder.reversed().compactMap { id in newest.first { $0.response.id == id } }
      return (newest.filter(\.isOnDisk) + others.filter { !$0.isOnDisk }).map { entry in
        CacheUsage.Entry(response: entry.response, isInMemory: entry.isInMemory, isOnDisk: entry.isOnDisk)
      }
    }
  }

  private static func makeHarness(_ directory: String, now: Timestamp) -> CacheHarness {
    CacheHarness(directory, memory: memoryCapacity, disk: diskCapacity, now: now)
  }

  private static func size(of directory: String) -> Int64 {
    CacheHarness.names(directory).reduce(0) { sum, name in
      sum + (CacheFile.status(directory + "/" + name)?.size ?? 0)
    }
  }

  @Test(arguments: UInt64(0)..<200)
  func `cache agrees with the model`(_ seed: UInt64) async throws {
    let directory = CacheHarness.directory()
    defer { CacheHarness.remove(directory) }
    var generator = SplitMix64(seed: seed)
    var model = Model()
    var harness = Self.makeHarness(directory, now: Sample.start)
    for step in 0..<60 {
      let now = harness.now.adding(seconds: Double.random(in: 0.01...50, using: &generator))
      harness.now = now
      let choice = Int.random(in: 0..<100, using: &generator)
      let some = model.entries.randomElement(using: &generator)?.response
      switch choice {
      case 0..<50: try await Self.store(harness, &model, now, &generator)
      case 50..<64:
        guard let some else { break }
        #expect(harness.cache.body(of: some) != nil)
        model.use(some.id, now: now)
      case 64..<78:
        guard let some else { break }
        let bytes = model.index(some.id).map { model.entries[$0].bytes }
        #expect(await harness.read(some) == bytes)
        model.read(some.id, now: now)
      case 78..<88:
        guard var some else { break }
        some.headers.append("X-Step", String(repeating: "x", count: step))
        harness.cache.update(some)
        model.update(some, now: now)
      case 88..<94:
        guard let some else { break }
        await harness.remove(some.url)
        model.remove(url: some.url)
      case 94:
        await harness.removeAll()
        model = Model()
      default:
        await harness.flush()
        harness = Self.makeHarness(directory, now: now)
        model.reopen()
      }
      await harness.flush()
      try Self.compare(harness, model, directory, "seed \(seed), step \(step), choice \(choice)")
    }
  }

  private static func store(
    _ harness: CacheHarness, _ model: inout Model, _ now: Timestamp, _ generator: inout SplitMix64
  ) async throws {
    let most = Bool.random(using: &generator) ? 700 : 3200
    let bytes = Pattern.bytes(
      Int.random(in: 0...most, using: &generator), from: Int.random(in: 0..<99, using: &generator))
    let url = "http://a/\(Int.random(in: 0..<60, using: &generator))"
    let response = CacheHarness.response(url, bytes)
    let onDisk = Int.random(in: 0..<5, using: &generator) > 0
    let isStored = await harness.store(response, .bytes(bytes), memoryOnly: !onDisk)
    #expect(isStored == model.store(response, bytes, onDisk: onDisk, now: now))
  }

  private static func compare(
    _ harness: CacheHarness, _ model: Model, _ directory: String, _ place: Comment
  ) throws {
    let usage = harness.cache.usage
    try #require(harness.cache.entries(limit: 1000) == model.list, place)
    #expect(usage.memoryUsed == model.memoryUsed && usage.memoryUsed <= memoryCapacity, place)
    #expect(usage.diskUsed == model.diskUsed && usage.diskUsed <= diskCapacity, place)
    // The pool's thread deletes a body that was read a moment after the reader was called back.
    var patience = 10_000
    while size(of: directory) != usage.diskUsed, patience > 0 {
      patience -= 1
      sched_yield()
    }
    #expect(size(of: directory) == usage.diskUsed, place)
    #expect(usage.count == model.entries.count, place)
  }
}
