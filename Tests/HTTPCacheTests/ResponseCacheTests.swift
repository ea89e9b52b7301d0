import Foundation
import HTTPFields
import JSON
import TestSupport
import Testing

@testable import HTTPCache

@Suite struct ResponseCacheTests {
  /// Runs a test with a directory that is deleted afterwards.
  static func withDirectory(_ body: (String) async throws -> Void) async rethrows {
    let directory = CacheHarness.directory()
    defer { CacheHarness.remove(directory) }
    try await body(directory)
  }

  @Test func `stored response is found by its URL`() async throws {
    try await Self.withDirectory { directory in
      let harness = CacheHarness(directory)
      let response = try #require(await harness.store("http://a/?x", [1, 2, 3]))
      #expect(harness.cache.variants(of: "http://a/?x") == [response])
      #expect(harness.cache.variants(of: "http://a/?y") == [])
      #expect(harness.cache.variants(of: "https://a/?x") == [])
      #expect(harness.cache.body(of: response)?.body == .bytes([1, 2, 3]))
      let meta = Int64(response.json.count)
      #expect(
        harness.cache.usage
          == CacheUsage(
            memoryUsed: 3, memoryCapacity: 10_000, diskUsed: 3 + meta, diskCapacity: 40_000, count: 1)
      )
      #expect(CacheHarness.names(directory).count == 2)
      // The counted size is the size on disk.
      let sizes = try CacheHarness.names(directory).map { name in
        try FileManager.default.attributesOfItem(atPath: directory + "/" + name)[.size] as? Int64 ?? 0
      }
      #expect(sizes.reduce(0, +) == 3 + meta)
    }
  }

  @Test func `small body is visible before it is on disk`() async throws {
    await Self.withDirectory { directory in
      let gate = Gate()
      let harness = CacheHarness(directory, willChange: { gate.wait() })
      // Wait until the cache is ready.
      await harness.flush()
      let small = CacheHarness.response("http://a/", [1])
      let large = CacheHarness.response("http://b/", Pattern.bytes(600))
      harness.cache.store(small, body: .bytes([1]))
      harness.cache.store(large, body: .bytes(Pattern.bytes(600)))
      #expect(harness.cache.variants(of: "http://a/") == [small])
      #expect(harness.cache.variants(of: "http://b/") == [])
      for _ in 0..<6 { gate.open() }
      await harness.flush()
      #expect(harness.cache.variants(of: "http://b/") == [large])
    }
  }

  @Test func `opening restores the stored entries`() async throws {
    try await Self.withDirectory { directory in
      let harness = CacheHarness(directory)
      let bytes = Pattern.bytes(700)
      let response = try #require(await harness.store("http://a/", bytes))
      let again = CacheHarness(directory)
      // The flush waits until the entries are known.
      await again.flush()
      #expect(again.cache.variants(of: "http://a/") == [response])
      #expect(again.cache.usage.diskUsed == harness.cache.usage.diskUsed)
      #expect(again.cache.usage.memoryUsed == 0)
      #expect(await again.read(response) == bytes)
      let small = try #require(await again.store("http://b/", [1, 2]))
      let third = CacheHarness(directory)
      await third.flush()
      #expect(await third.read(small) == [1, 2])
      #expect(third.cache.usage.memoryUsed == 2)
      #expect(third.cache.body(of: small)?.body == .bytes([1, 2]))
    }
  }

  @Test func `requests before opening are carried out later`() async throws {
    try await Self.withDirectory { directory in
      let first = CacheHarness(directory)
      try #require(await first.store("http://a/", [1]) != nil)
      try #require(await first.store("http://b/", [2]) != nil)
      let second = CacheHarness(directory)
      second.cache.remove(url: "http://a/")
      second.cache.store(CacheHarness.response("http://b/", [3]), body: .bytes([3]))
      await second.flush()
      #expect(second.urls() == ["http://b/"])
      let third = CacheHarness(directory)
      await third.flush()
      let found = try #require(third.cache.variants(of: "http://b/").first)
      #expect(await third.read(found) == [3])
      #expect(third.cache.variants(of: "http://a/") == [])
      #expect(CacheHarness.names(directory).count == 2)
    }
  }

  @Test func `files are linked and not copied`() async throws {
    try await Self.withDirectory { directory in
      let source = CacheHarness.directory()
      defer { CacheHarness.remove(source) }
      try Data([1, 2, 3]).write(to: URL(fileURLWithPath: source))
      let harness = CacheHarness(directory)
      let response = CacheHarness.response("http://a/", [1, 2, 3])
      #expect(await harness.store(response, .file(source)))
      let lease = try #require(harness.cache.body(of: response))
      guard case .file(let path) = lease.body else {
        Issue.record("the cached body is not a file")
        return
      }
      let number = { try FileManager.default.attributesOfItem(atPath: $0)[.systemFileNumber] as? UInt64 }
      #expect(try number(path) == number(source))
      CacheHarness.remove(source)
      #expect(await harness.read(response) == [1, 2, 3])
      // A file of another size, and a missing file.
      #expect(await !harness.store(CacheHarness.response("http://b/", [1]), .file(path)))
      #expect(await !harness.store(CacheHarness.response("http://b/", [1]), .file(source)))
      #expect(harness.urls() == ["http://a/"])
      #expect(CacheHarness.names(directory).count == 2)
    }
  }

  /// The two files may be on different file systems.
  @Test func `file that cannot be linked is copied`() async throws {
    let source = CacheHarness.directory()
    let target = CacheHarness.directory()
    defer {
      CacheHarness.remove(source)
      CacheHarness.remove(target)
    }
    let bytes = Pattern.bytes(600_000)
    try Data(bytes).write(to: URL(fileURLWithPath: source))
    #expect(CacheFile.copy(source, to: target))
    #expect(CacheFile.read(target, size: 600_000) == bytes)
    #expect(!CacheFile.copy(source, to: target))
    #expect(CacheFile.read(target, size: 599_999) == nil)
  }

  @Test func `lease keeps the file of a deleted response`() async throws {
    try await Self.withDirectory { directory in
      let harness = CacheHarness(directory, memory: 0)
      let response = try #require(await harness.store("http://a/", [1, 2, 3]))
      var lease = harness.cache.body(of: response)
      var other = harness.cache.body(of: response)
      guard case .file(let path) = lease?.body else {
        Issue.record("the cached body is not a file")
        return
      }
      await harness.store("http://a/", [4])
      await harness.removeAll()
      await harness.flush()
      #expect(CacheHarness.names(directory) == [String(path.dropFirst(directory.count + 1))])
      lease = nil
      await harness.flush()
      #expect(CacheFile.read(path, size: 3) == [1, 2, 3])
      #expect(other?.size == 3)
      other = nil
      await harness.flush()
      #expect(CacheHarness.names(directory) == [])
    }
  }

  @Test func `response replaces the one with the same key`() async throws {
    await Self.withDirectory { directory in
      let harness = CacheHarness(directory)
      let vary = [("Vary", "Accept")]
      for (accept, byte) in [("a", 1), ("b", 2), ("a", 3)] as [(String, UInt8)] {
        let response = CacheHarness.response("http://a/", [byte], vary, to: [("Accept", accept)])
        #expect(await harness.store(response, .bytes([byte])))
      }
      let again = CacheHarness(directory)
      await again.flush()
      for cache in [harness.cache, again.cache] {
        let variants = cache.variants(of: "http://a/")
        #expect(Set(variants.map(\.sha256)) == [Sample.digest([2]), Sample.digest([3])])
      }
      #expect(CacheHarness.names(directory).count == 4)
    }
  }

  @Test func `number of variants of a URL is limited`() async throws {
    let harness = CacheHarness(nil, memory: 1_000_000)
    for number in 0..<40 {
      let asked = [("Accept", String(number))]
      let response = CacheHarness.response("http://a/", [1], [("Vary", "Accept")], to: asked)
      #expect(await harness.store(response, .bytes([1])))
    }
    #expect(harness.cache.variants(of: "http://a/").map(\.vary[0].value) == (8..<40).map { String($0) })
  }

  @Test func `metadata are updated in memory and on disk`() async throws {
    try await Self.withDirectory { directory in
      let harness = CacheHarness(directory)
      var response = try #require(await harness.store("http://a/", [1], [("Vary", "Accept")]))
      response.headers.append("X-New", "1")
      response.vary = [VaryField(name: "accept", value: "x")]
      harness.cache.update(response)
      #expect(harness.cache.variants(of: "http://a/") == [response])
      await harness.flush()
      #expect(CacheHarness.names(directory).count == 2)
      let again = CacheHarness(directory)
      await again.flush()
      #expect(again.cache.variants(of: "http://a/") == [response])
      #expect(again.cache.usage.diskUsed == harness.cache.usage.diskUsed)
      await again.remove("http://a/")
      harness.cache.update(CacheHarness.response("http://a/", [2]))
      await again.flush()
      #expect(again.cache.variants(of: "http://a/") == [] && CacheHarness.names(directory) == [])
    }
  }

  @Test func `oversized response is not stored`() async throws {
    await Self.withDirectory { directory in
      let harness = CacheHarness(directory)
      await harness.store("http://a/", [1])
      #expect(await harness.store("http://a/", Pattern.bytes(2001)) == nil)
      // The earlier response is no longer served either.
      #expect(harness.urls() == [])
      await harness.flush()
      #expect(CacheHarness.names(directory) == [])
      #expect(await !harness.store(CacheHarness.response("http://a/", [1]), .bytes([1, 2])))
      let memory = CacheHarness(nil, memory: 40_000)
      #expect(await memory.store("http://a/", Pattern.bytes(2001)) == nil)
    }
  }

  @Test func `cache without a directory writes no file`() async throws {
    let place = CacheHarness.directory()
    defer { CacheHarness.remove(place) }
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    let source = place + "/source"
    try Data([7, 8]).write(to: URL(fileURLWithPath: source))
    let harness = CacheHarness(nil, memory: 20_000)
    let response = try #require(await harness.store("http://a/", [1, 2]))
    let file = CacheHarness.response("http://b/", [7, 8])
    #expect(await harness.store(file, .file(source)))
    #expect(await !harness.store(CacheHarness.response("http://c/", [7]), .file(source)))
    #expect(await harness.read(file) == [7, 8])
    #expect(await harness.read(response) == [1, 2])
    #expect(harness.cache.usage.diskUsed == 0 && harness.cache.usage.diskCapacity == 0)
    #expect(harness.cache.usage.memoryUsed == Int64(4 + response.json.count + file.json.count))
    harness.cache.update(response)
    await harness.remove("http://a/")
    #expect(harness.urls() == ["http://b/"])
    await harness.removeAll()
    #expect(harness.urls() == [] && harness.cache.usage.memoryUsed == 0)
    #expect(CacheHarness.names(place) == ["source"])
    // The same holds for a disk without capacity.
    let none = CacheHarness(place + "/none", memory: 20_000, disk: 0)
    #expect(await none.store("http://a/", [1]) != nil)
    await none.flush()
    #expect(CacheHarness.names(place) == ["source"])
  }

  @Test func `response for memory only is not on disk`() async throws {
    try await Self.withDirectory { directory in
      let harness = CacheHarness(directory, memory: 40_000)
      let old = try #require(await harness.store("http://a/", [1]))
      let new = try #require(await harness.store("http://a/", [2], memoryOnly: true))
      #expect(harness.cache.variants(of: "http://a/") == [new] && old != new)
      await harness.flush()
      #expect(CacheHarness.names(directory) == [])
      #expect(harness.cache.entries(limit: 9).map(\.isOnDisk) == [false])
    }
  }

  @Test func `failing disk loses only the new entry`() async throws {
    await Self.withDirectory { directory in
      let harness = CacheHarness(directory)
      await harness.store("http://a/", [1])
      CacheHarness.remove(directory)
      #expect(await harness.store("http://b/", [2]) == nil)
      #expect(harness.urls() == ["http://a/"])
      await harness.remove("http://a/")
      #expect(harness.cache.usage.count == 0 && harness.cache.usage.diskUsed == 0)
      try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
      #expect(await harness.store("http://b/", [2]) != nil)
    }
  }

  @Test func `full disk keeps no outdated response`() async throws {
    await Self.withDirectory { directory in
      let harness = CacheHarness(directory)
      await harness.store("http://a/", [1])
      let response = CacheHarness.response("http://a/", [2])
      // The obstacle to the new metadata simulates a full disk.
      let blocked = CacheDisk(directory: directory).metaPath(response.key) + ".new"
      try? FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: false)
      #expect(await !harness.store(response, .bytes([2])))
      #expect(harness.urls() == [])
      await harness.flush()
      #expect(CacheHarness.names(directory) == [String(blocked.dropFirst(directory.count + 1))])
      CacheHarness.remove(blocked)
      let again = CacheHarness(directory)
      await again.flush()
      #expect(again.urls() == [] && CacheHarness.names(directory) == [])
    }
  }

  @Test func `changed body is not served`() async throws {
    try await Self.withDirectory { directory in
      let harness = CacheHarness(directory, memory: 0)
      let response = try #require(await harness.store("http://a/", [1, 2, 3]))
      let path = CacheDisk(directory: directory).bodyPath(response.id)
      try Data([1, 2, 4]).write(to: URL(fileURLWithPath: path))
      #expect(await harness.read(response) == nil)
      #expect(harness.urls() == [])
    }
  }

  @Test func `foreign files are not deleted`() async throws {
    try await Self.withDirectory { directory in
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
      for name in ["notes.txt", "x.body", "y.meta", "z.meta.new"] {
        try Data([1]).write(to: URL(fileURLWithPath: directory + "/" + name))
      }
      let harness = CacheHarness(directory)
      await harness.flush()
      #expect(CacheHarness.names(directory) == ["notes.txt"])
      await harness.removeAll()
      #expect(CacheHarness.names(directory) == ["notes.txt"])
    }
  }
}
