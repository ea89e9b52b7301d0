import BlobStore
import EventLoop
import SimulatedStores
import TestSupport
import Testing
import TransferModel

@testable import TransferService

@Suite struct BodySpoolTests {
  enum Medium: CaseIterable {
    case disk, memory
  }

  private struct Bench {
    static let key = BlobKey(.file(FileID(high: 1, low: 1)), .body, BlobStamp(epoch: 1))

    let directory = TemporaryDirectory.make("ferry-spool")
    let blobs: any BlobStore
    let memory: MemoryFiles
    let pool = ThreadPool(name: "test-spool", threads: 1)
    let spool: BodySpool

    init(_ medium: Medium, capacity: Int64 = 1 << 20, isBroken: Bool = false) throws {
      let files = DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files")
      if !isBroken { try files.prepare() }
      memory = MemoryFiles(capacity: capacity)
      blobs = medium == .disk ? files : SessionBlobs(memory, of: .shared)
      spool = BodySpool(
        Self.key, in: blobs, on: pool,
        capacity: medium == .disk ? nil : capacity)
    }

    func whole() async throws(ServiceError) -> [UInt8] {
      var bytes: [UInt8] = []
      while let piece = try await spool.next() { bytes += piece }
      return bytes
    }

    func failure() async -> ServiceError? {
      do throws(ServiceError) { _ = try await whole() } catch { return error }
      return nil
    }
  }

  private static func bytes(_ size: Int) -> [UInt8] {
    var random = SplitMix64(seed: UInt64(size))
    return (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  @Test(
    arguments: Medium.allCases, [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 400_001])
  func spoolReturnsTheAppendedBytes(_ medium: Medium, _ size: Int) async throws {
    for piece in [7001, 65_536, 200_000] {
      let (bench, bytes) = (try Bench(medium), Self.bytes(size))
      for start in stride(from: 0, to: size, by: piece) {
        await bench.spool.append(Array(bytes[start..<min(size, start + piece)]))
      }
      #expect(bench.spool.size == size && bench.spool.hasFile == (size > 65_536))
      #expect(try await bench.whole() == bytes)
      #expect(try await bench.spool.next() == nil)
    }
  }

  @Test func spooledFileIsEncrypted() async throws {
    let bench = try Bench(.disk)
    await bench.spool.append([UInt8](repeating: 0x61, count: 300_000))
    _ = try await bench.spool.next()
    let stored = try #require(try bench.blobs.open(Bench.key.part(.draft)).wait(at: 0, maximum: 1 << 20))
    #expect(stored.count == 4 * (65_536 + 16) && stored.count(where: { $0 == 0x61 }) < stored.count / 100)
  }

  /// The file is a draft, like that of an interrupted upload, so the next start deletes it after a crash.
  @Test func releasedSpoolDeletesItsDraft() async throws {
    var bench: Bench? = try Bench(.disk)
    let (blobs, pool) = (try #require(bench?.blobs), try #require(bench?.pool))
    await bench?.spool.append(Self.bytes(300_000))
    _ = try await bench?.spool.next()
    #expect(blobs.list(.files) == [Bench.key.part(.draft)])
    bench = nil
    // The pool's only thread deletes the draft.
    await pool.run {}
    #expect(blobs.list(.files).isEmpty)
  }

  @Test func memorySpoolCountsTowardsItsCapacity() async throws {
    let bench = try Bench(.memory, capacity: 200_000)
    await bench.spool.append(Self.bytes(150_000))
    _ = try await bench.spool.next()
    #expect(bench.memory.used >= 131_072)
    let full = try Bench(.memory, capacity: 200_000)
    await full.spool.append(Self.bytes(500_000))
    guard case .memoryFull(limit: 200_000)? = await full.failure() else {
      Issue.record("expected memoryFull")
      return
    }
  }

  @Test func failedWriteReportsStoreUnavailable() async throws {
    let bench = try Bench(.disk, isBroken: true)
    await bench.spool.append(Self.bytes(500_000))
    guard case .storeUnavailable? = await bench.failure() else {
      Issue.record("expected storeUnavailable")
      return
    }
  }
}
