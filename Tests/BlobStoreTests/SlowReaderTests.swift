import BlobStore
import EventLoop
import Glibc
import SimulatedStores
import Synchronization
import TestSupport
import Testing
import TransferModel

/// Readers of blobs whose bytes must be fetched first.
@Suite(.endsInTime) struct SlowReaderTests {
  private typealias Bench = BlobBench
  private static let body = Bench.key(.body)

  private let bench: BlobBench
  private let calls = SlowCalls()

  init() throws { bench = try BlobBench(.memory) }

  /// Returns a reader of a slow store.
  private func reader(of bytes: [UInt8]) async throws -> any BlobReader {
    try await bench.put(bytes, Self.body, in: calls.memory)
    let opened = CompletionLog<Result<any BlobReader, BlobError>>()
    calls.store.open(Self.body) { opened.tell($0) }
    try await calls.answer(.open)
    return try #require(opened.wait()).get()
  }

  // MARK: Cancellation

  @Test func cancelledFetchCompletesOnce() async throws {
    let reader = try await reader(of: [1, 2, 3])
    let fetched = CompletionLog<Result<Void, BlobError>>()
    #expect(reader.read(at: 0, maximum: 3) == .notCached)
    reader.fetch(at: 0, count: 3) { fetched.tell($0) }
    let fetch = try await calls.next(.fetch)
    reader.cancel()
    guard case .failure(let error) = try #require(fetched.wait()) else {
      Issue.record("the fetch succeeded after its cancellation")
      return
    }
    #expect(error.reason == .cancelled && !fetch.answer() && fetched.all.count == 1)
    // The bytes can be fetched again.
    reader.fetch(at: 0, count: 3) { _ in }
    try await calls.answer(.fetch)
    #expect(reader.read(at: 0, maximum: 3) == .bytes([1, 2, 3]))
  }

  @Test func cancelledTaskCancelsItsFetch() async throws {
    let reader = try await reader(of: [1, 2, 3])
    let reading = Task { [bench] in try await reader.bytes(at: 0, count: 3, on: bench.pool) }
    let fetch = try await calls.next(.fetch)
    reading.cancel()
    await #expect(throws: BlobError.self) { try await reading.value }
    #expect(!fetch.answer())
  }

  /// The pool's threads are busy, so the first fetch is not in flight yet.
  @Test func cancelledTaskStartsNoFetch() async throws {
    let (reader, gate) = (try await reader(of: [1, 2, 3]), Gate())
    for _ in 0..<2 { bench.pool.submit { _ = gate.wait() } }
    let reading = Task { [bench] in try await reader.bytes(at: 0, count: 3, on: bench.pool) }
    reading.cancel()
    gate.open()
    await #expect(throws: BlobError.self) { try await reading.value }
    // The next call is this one: there was no fetch.
    calls.store.size(of: Self.body) { _ in }
    try await calls.answer(.size)
  }

  // MARK: Prefetching

  @Test func `prefetching reader fetches once at a time`() async throws {
    let reader = PrefetchingReader(try await reader(of: [1, 2, 3]), on: bench.pool)
    let ready = CompletionLog<Void>()
    for _ in 0..<3 { #expect(reader.read(at: 0, maximum: 3, upTo: 3) { ready.tell(()) } == .notCached) }
    let fetch = try await calls.next(.fetch)
    #expect(reader.read(at: 1, maximum: 3, upTo: 3, nil) == .notCached && ready.all.isEmpty)
    fetch.answer()
    #expect(ready.wait() != nil && ready.all.count == 1)
    #expect(reader.read(at: 0, maximum: 3, upTo: 3, nil) == .bytes([1, 2, 3]))
  }

  @Test func failedFetchFailsThePrefetchingReader() async throws {
    let reader = PrefetchingReader(try await reader(of: [1, 2, 3]), on: bench.pool)
    let ready = CompletionLog<Void>()
    #expect(reader.read(at: 0, maximum: 3, upTo: 3) { ready.tell(()) } == .notCached)
    try await calls.next(.fetch).fail(BlobError(.refused, "no network"))
    #expect(ready.wait() != nil && reader.read(at: 0, maximum: 3, upTo: 3, nil) == .failed)
  }

  @Test func closedPrefetchingReaderCancelsItsFetchAndStartsNone() async throws {
    let reader = PrefetchingReader(try await reader(of: [1, 2, 3]), on: bench.pool)
    let ready = CompletionLog<Void>()
    _ = reader.read(at: 0, maximum: 3, upTo: 3) { ready.tell(()) }
    let fetch = try await calls.next(.fetch)
    reader.close()
    #expect(!fetch.answer())
    #expect(reader.read(at: 0, maximum: 3, upTo: 3) { ready.tell(()) } == .failed)
    calls.store.size(of: Self.body) { _ in }
    try await calls.answer(.size)
    #expect(ready.all.isEmpty)
  }

  // MARK: Memory pressure

  /// Evicts the clean pages of a file from the page cache, as the kernel does under memory pressure. A file system in memory keeps them.
  private static func evict(_ path: String) {
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    _ = fsync(descriptor)
    _ = posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_DONTNEED))
  }

  @Test func `bytes of a second fetch survive an eviction`() async throws {
    let bench = try Bench(.directory)
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try await bench.put(bytes, Self.body)
    let path = try #require(bench.store.local).localFile(of: Self.body).path
    let reader = try bench.store.open(Self.body)
    var read: [UInt8] = []
    for offset in stride(from: Int64(0), to: 200_000, by: 50_000) {
      for _ in 0..<2 {
        reader.fetch(at: offset, count: 50_000) { _ in }
        Self.evict(path)
      }
      guard case .bytes(let piece) = reader.read(at: offset, maximum: 50_000) else {
        Issue.record("the bytes at \(offset) are not readable after the eviction")
        return
      }
      read += piece.prefix(50_000)
    }
    #expect(read == bytes)
  }

  // MARK: Immediate completions

  /// The reader returns one byte at a time, and each byte must be fetched.
  @Test func promptFetchesDoNotRecurse() async throws {
    final class Miser: BlobReader {
      private let fetched = Mutex<Int64>(-1)
      func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int> {
        guard fetched.withLock({ $0 }) == offset else { return .notCached }
        buffer[0] = UInt8(truncatingIfNeeded: offset)
        return .bytes(1)
      }
      func fetch(at offset: Int64, count: Int, _ done: @escaping BlobCompletion<Void>) {
        fetched.withLock { $0 = offset }
        done(.success(()))
      }
      func cancel() {}
    }
    let bytes = try await Miser().bytes(at: 0, count: 60_000, on: Bench(.memory).pool)
    #expect(bytes == (0..<60_000).map { UInt8(truncatingIfNeeded: $0) })
  }
}
