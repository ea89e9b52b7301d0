import BlobStore
import EventLoop
import Foundation
import SimulatedStores
import TestSupport
import Testing
import TransferModel

/// Faults of a store. Each must have the right kind of error and leave no blob.
@Suite(.endsInTime) struct BlobFaultTests {
  private typealias Bench = BlobBench
  private static let bytes = [UInt8](repeating: 7, count: 100_000)

  private func failure(
    _ bench: BlobBench, _ store: any BlobStore, _ bytes: [UInt8] = bytes
  ) async -> BlobError.Reason? {
    let writer = bench.writer(Bench.key(.draft), in: store)
    _ = writer.append(bytes)
    guard case .failure(let error) = await bench.finish(writer, as: Bench.key(.body)) else { return nil }
    return error.reason
  }

  @Test(arguments: BlobKind.allCases, BlobError.Reason.allCases) func `failed blob leaves nothing`(
    _ kind: BlobKind, _ reason: BlobError.Reason
  ) async throws {
    let bench = try Bench(kind)
    let faulty = FaultyBlobs(bench.store)
    for call in [FaultyBlobs.Call.create, .write, .commit] {
      faulty.fail { $0 == call ? BlobError(reason, "\($1)") : nil }
      #expect(await failure(bench, faulty) == reason, "\(call)")
      #expect(bench.names().isEmpty, "\(call)")
    }
    faulty.fail(nil)
    #expect(await failure(bench, faulty) == nil)
    faulty.fail { call, _ in [.open, .claim, .alias].contains(call) ? BlobError(reason, "") : nil }
    let body = Bench.key(.body)
    #expect(bench.refusal { () throws(BlobError) in _ = try faulty.open(body) } == reason)
    #expect(
      bench.refusal { () throws(BlobError) in try faulty.alias(body, as: Bench.key(.body, 2)) } == reason)
    #expect(
      bench.refusal { () throws(BlobError) in try faulty.claim(body, as: Bench.key(.draft), size: 0) }
        == reason)
    #expect(bench.names() == [body])
  }

  /// A file without a name uses disk space as long as it is open.
  @Test(arguments: [FaultyBlobs.Call.write, .commit]) func `failed writer keeps no file open`(
    _ call: FaultyBlobs.Call
  ) async throws {
    let bench = try Bench(.directory)
    let faulty = FaultyBlobs(bench.store)
    faulty.fail { $0 == call ? BlobError(.full, "\($1)") : nil }
    let writer = bench.writer(Bench.key(.draft), in: faulty)
    _ = writer.append([1, 2, 3])
    _ = await bench.finish(writer, as: Bench.key(.body))
    let file = try #require(bench.store.local).localFile(of: Bench.key(.draft)).path
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
    #expect(!open.contains { $0.hasPrefix(file) }, "\(open)")
    withExtendedLifetime(writer) {}
  }

  /// The capacity is reached in the middle of a blob.
  @Test(arguments: [BlobKind.session, .memory, .slow]) func `oversized blob is refused`(_ kind: BlobKind)
    async throws
  {
    let bench = try Bench(kind)
    let half = [UInt8](repeating: 1, count: Bench.capacity / 2)
    try await bench.put(half, Bench.key(.body, 9))
    let reason = await failure(bench, bench.store, half + [1])
    #expect(reason == (kind == .session ? .overQuota : .full))
    #expect(bench.names() == [Bench.key(.body, 9)])
    #expect(await failure(bench, bench.store, half) == nil)
  }

  /// `append` must not block while the store is slow, and all bytes must be written in the end.
  @Test(arguments: BlobKind.allCases) func `slow store does not block append`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    let (faulty, gate, drained) = (FaultyBlobs(bench.store), Gate(), Gate())
    faulty.fail { call, _ in
      if call == .create { gate.wait() }
      return nil
    }
    let writer = bench.writer(Bench.key(.draft), in: faulty)
    let piece = [UInt8](repeating: 1, count: BlobWriter.lowWater / 4)
    let waiting = (0..<5).map { _ in writer.append(piece) }
    #expect(waiting.last == 5 * piece.count && !writer.isDrained && writer.readable.count == 0)
    writer.whenDrained { drained.open() }
    gate.open()
    #expect(drained.wait())
    let (size, _) = try await bench.finish(writer, as: Bench.key(.body)).get()
    #expect(size == 5 * Int64(piece.count) && bench.bytes(Bench.key(.body))?.count == Int(size))
  }

  /// The process dies between a write and its commit. The half-written draft must not become a blob.
  @Test func `torn draft cannot be committed`() async throws {
    let blobs = MemoryBlobs()
    let (draft, body) = (Bench.key(.draft), Bench.key(.body))
    let old = try blobs.create(draft)
    try old.write([Self.bytes], at: 0)
    blobs.crash { _, size in size / 2 }
    #expect(blobs.list(.tasks) == [draft] && blobs.size(of: draft) == 50_000 && blobs.size(of: body) == nil)
    let digest = Bench.sha256(Self.bytes)
    let reopened = try blobs.reopen(draft, at: 50_000)
    let reason = try Bench(.memory).refusal { () throws(BlobError) in
      try reopened.commit(as: body, size: 100_000, sha256: digest)
    }
    #expect(reason == .incomplete)
    // The process that died must not commit its draft either.
    #expect(throws: BlobError.self) { try old.commit(as: body, size: 100_000, sha256: digest) }
    try reopened.write([Array(Self.bytes[50_000...])], at: 50_000)
    try reopened.commit(as: body, size: 100_000, sha256: digest)
    #expect(blobs.list(.tasks) == [body])
    blobs.crash { _, _ in nil }
    #expect(blobs.list(.tasks) == [body])
  }

  @Test(arguments: BlobKind.allCases) func `draft of the wrong size cannot be committed`(_ kind: BlobKind)
    async throws
  {
    let bench = try Bench(kind)
    let draft = try bench.store.create(Bench.key(.draft))
    try draft.write([[1, 2, 3]], at: 0)
    for size in [2, 4] as [Int64] {
      let reason = bench.refusal { () throws(BlobError) in
        try draft.commit(as: Bench.key(.body), size: size, sha256: Bench.sha256([1, 2, 3]))
      }
      #expect(reason == .incomplete)
    }
    #expect(bench.names() == [Bench.key(.draft)])
  }

  /// The draft is deleted while its writer is open.
  @Test(arguments: BlobKind.allCases) func `deleted draft is not committed`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    let draft = try bench.store.create(Bench.key(.draft))
    bench.store.delete(Bench.key(.draft))
    let reason = bench.refusal { () throws(BlobError) in
      try draft.commit(as: Bench.key(.body), size: 0, sha256: Bench.sha256([]))
    }
    #expect(reason == .notFound && bench.names().isEmpty)
    let reopened = bench.refusal { () throws(BlobError) in
      _ = try bench.store.reopen(Bench.key(.draft), at: 0)
    }
    #expect(reopened == .notFound)
  }

  /// The errors of a real file system.
  @Test func `missing or invalid directory is an error`() async throws {
    let bench = try Bench(.directory)
    let place = TemporaryDirectory.make("ferry-blobs")
    let none = DirectoryBlobs(bodies: place + "/none", files: place + "/none")
    #expect(await failure(bench, none) == .notFound)
    #expect(!none.containsBlobs)
    for shelf in BlobCategory.allCases {
      await #expect(throws: BlobError.self) { try await none.keys(shelf) }
    }
    let device = DirectoryBlobs(bodies: "/dev/null", files: "/dev/null")
    #expect(await failure(bench, device) == .refused)
  }

  @Test(arguments: BlobKind.durable) func `quarantined blob is hidden until it expires`(_ kind: BlobKind)
    async throws
  {
    let bench = try Bench(kind)
    try await bench.put([1], Bench.key(.body))
    #expect(bench.store.setAside(Bench.key(.body), at: Bench.time))
    #expect(!bench.store.setAside(Bench.key(.body), at: Bench.time))
    #expect(bench.names().isEmpty && bench.bytes(Bench.key(.body)) == nil)
    #expect(bench.store.removeSetAside(at: Bench.time.adding(seconds: QuarantineDirectory.retention)) == 0)
    #expect(
      bench.store.removeSetAside(at: Bench.time.adding(seconds: QuarantineDirectory.retention + 1)) == 1)
  }
}
