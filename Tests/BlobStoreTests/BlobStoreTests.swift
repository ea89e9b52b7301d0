import BlobStore
import EventLoop
import SimulatedStores
import TestSupport
import Testing
import TransferModel

/// The contract of every blob store.
@Suite(.endsInTime) struct BlobStoreTests {
  private typealias Bench = BlobBench
  private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }

  @Test(arguments: BlobKind.allCases) func `blob is visible after commit`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    let (draft, body) = (Bench.key(.draft), Bench.key(.body))
    let writer = bench.writer(draft)
    #expect(bench.names().isEmpty && bench.store.size(of: body) == nil)
    #expect(bench.refusal { () throws(BlobError) in _ = try bench.store.open(body) } == .notFound)
    _ = writer.append(Array(Self.bytes[..<200_000]))
    _ = writer.append(Array(Self.bytes[200_000...]))
    let (size, sha256) = try await bench.finish(writer, as: body).get()
    #expect(size == 300_000 && sha256 == Bench.sha256(Self.bytes))
    #expect(bench.names() == [body] && bench.store.size(of: body) == 300_000)
    let reader = try bench.store.open(body)
    #expect(Bench.bytes(of: reader) == Self.bytes)
    #expect(reader.wait(at: 299_990, maximum: 100) == Array(Self.bytes[299_990...]))
    #expect(await bench.read(reader, at: 7, maximum: 3) == .bytes(Array(Self.bytes[7..<10])))
    #expect(await bench.read(reader, at: 300_000, maximum: 1) == .end)
  }

  @Test(arguments: BlobKind.allCases) func `empty blob can be committed`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    try await bench.put([], Bench.key(.body))
    #expect(bench.bytes(Bench.key(.body)) == [] && bench.names() == [Bench.key(.body)])
  }

  @Test(arguments: BlobKind.allCases) func `discarded draft leaves nothing`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    let writer = bench.writer(Bench.key(.draft))
    let notFound = Gate()
    writer.observe { if bench.names().isEmpty { notFound.open() } }
    _ = writer.append(Self.bytes)
    writer.discard()
    #expect(notFound.wait())
  }

  /// A reader of the draft receives the bytes that are written so far.
  @Test(arguments: BlobKind.allCases) func `draft is readable while written`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    let draft = try bench.store.create(Bench.key(.draft))
    let reader = try #require(draft.reader())
    #expect(Bench.bytes(of: reader) == [])
    try draft.write([[1, 2], [3]], at: 0)
    #expect(Bench.bytes(of: reader) == [1, 2, 3])
    draft.discard()
    #expect(Bench.bytes(of: reader) == [1, 2, 3] && bench.names().isEmpty)
  }

  @Test(arguments: BlobKind.allCases) func `resumed draft is digested whole`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    let (partial, draft, body) = (Bench.key(.partial), Bench.key(.draft), Bench.key(.body))
    // The draft has some more bytes than the row says.
    try await bench.put(Array(Self.bytes[..<1000]) + [9, 9], partial)
    try bench.store.claim(partial, as: draft, size: 1000)
    let writer = BlobWriter(resuming: draft, at: 1000, in: bench.store, on: bench.pool)
    _ = writer.append(Array(Self.bytes[1000...]))
    let (size, sha256) = try await bench.finish(writer, as: body).get()
    #expect(size == 300_000 && sha256 == Bench.sha256(Self.bytes) && bench.bytes(body) == Self.bytes)
    #expect(bench.names() == [body])
  }

  @Test(arguments: BlobKind.allCases) func `short draft cannot be resumed`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    try bench.store.create(Bench.key(.draft)).write([[1, 2, 3]], at: 0)
    let writer = BlobWriter(resuming: Bench.key(.draft), at: 10, in: bench.store, on: bench.pool)
    guard case .failure(let error) = await bench.finish(writer, as: Bench.key(.body)) else {
      Issue.record("the blob was committed, but a failure was expected")
      return
    }
    #expect(error.reason == .incomplete && bench.names().isEmpty)
  }

  @Test(arguments: BlobKind.allCases) func `aliases are independent`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    let (body, file) = (Bench.key(.body), BlobKey(FileID(high: 2, low: 2)))
    try await bench.put(Self.bytes, body)
    try bench.store.alias(body, as: file)
    #expect(bench.store.list(.tasks) == [body] && bench.store.list(.files) == [file])
    bench.store.delete(body)
    #expect(bench.bytes(file) == Self.bytes && bench.bytes(body) == nil)
    #expect(bench.refusal { () throws(BlobError) in try bench.store.alias(body, as: file) } == .notFound)
    bench.store.delete(body)
  }

  @Test(arguments: BlobKind.allCases) func `reader outlives its blob`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    try await bench.put([1, 2, 3], Bench.key(.body))
    let reader = try bench.store.open(Bench.key(.body))
    bench.store.delete(Bench.key(.body))
    #expect(Bench.bytes(of: reader) == [1, 2, 3])
  }

  // MARK: Partial blobs of an earlier attempt

  @Test(arguments: BlobKind.allCases) func `first caller claims the blob`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    let (partial, first, second) = (Bench.key(.partial), Bench.key(.draft, 2), Bench.key(.draft, 3))
    try await bench.put([1, 2, 3], partial)
    #expect(
      bench.refusal { () throws(BlobError) in try bench.store.claim(partial, as: first, size: 4) }
        == .incomplete)
    #expect(bench.names() == [partial])
    try bench.store.claim(partial, as: first, size: 3)
    #expect(
      bench.refusal { () throws(BlobError) in try bench.store.claim(partial, as: second, size: 3) }
        == .notFound)
    #expect(bench.bytes(first) == [1, 2, 3] && bench.names() == [first])
    // The draft is moved back, so the next caller may claim it.
    #expect(bench.store.move(first, to: partial) && !bench.store.move(first, to: partial))
    try bench.store.claim(partial, as: second, size: 1)
    #expect(bench.names() == [second])
  }

  // MARK: Owners

  /// No call of an overtaken owner may change its successor's blobs.
  @Test(arguments: BlobKind.allCases) func `overtaken owner changes no successor blob`(_ kind: BlobKind)
    async throws
  {
    let bench = try Bench(kind)
    let (early, late) = (bench.writer(Bench.key(.draft, 1)), bench.writer(Bench.key(.draft, 2)))
    _ = early.append([1, 1])
    _ = late.append([2, 2])
    _ = try await bench.finish(late, as: Bench.key(.body, 2)).get()
    _ = early.append([1])
    _ = try await bench.finish(early, as: Bench.key(.body, 1)).get()
    #expect(bench.bytes(Bench.key(.body, 2)) == [2, 2] && bench.bytes(Bench.key(.body, 1)) == [1, 1, 1])
    bench.store.delete(Bench.key(.body, 1))
    #expect(bench.bytes(Bench.key(.body, 2)) == [2, 2])
  }

  /// The successor continues a draft that its frozen writer still has open. The old writer's bytes must have no effect.
  @Test(arguments: BlobKind.durable) func `frozen writer does not reach a claimed draft`(_ kind: BlobKind)
    async throws
  {
    let bench = try Bench(kind)
    let old = try bench.store.create(Bench.key(.draft, 1))
    try old.write([[1, 2, 3, 4]], at: 0)
    // These are the steps of a service at its start.
    #expect(bench.store.move(Bench.key(.draft, 1), to: Bench.key(.partial, 1)))
    try bench.store.claim(Bench.key(.partial, 1), as: Bench.key(.draft, 2), size: 4)
    let new = try bench.store.reopen(Bench.key(.draft, 2), at: 4)
    try new.write([[5, 6]], at: 4)
    try old.write([[9, 9, 9, 9]], at: 2)
    #expect(bench.bytes(Bench.key(.draft, 2)) == [1, 2, 3, 4, 5, 6])
    let digest = Bench.sha256([1, 2, 9, 9, 9, 9])
    #expect(
      bench.refusal { () throws(BlobError) in
        try old.commit(as: Bench.key(.partial, 1), size: 6, sha256: digest)
      } == .notFound)
    old.discard()
    try new.commit(as: Bench.key(.body, 2), size: 6, sha256: Bench.sha256([1, 2, 3, 4, 5, 6]))
    #expect(bench.bytes(Bench.key(.body, 2)) == [1, 2, 3, 4, 5, 6])
    #expect(bench.names() == [Bench.key(.body, 2)])
  }

  @Test(arguments: BlobKind.allCases) func `later blob is not claimed`(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    try await bench.put([1], Bench.key(.partial, 7))
    #expect(
      bench.refusal { () throws(BlobError) in
        try bench.store.claim(Bench.key(.partial, 7), as: Bench.key(.draft, 6), size: 1)
      } == .fencedOff)
    // Another task may continue it, because its client has the resume data.
    let other = BlobKey(TaskID(high: 3, low: 3), .draft, BlobStamp(epoch: 6))
    try bench.store.claim(Bench.key(.partial, 7), as: other, size: 1)
    #expect(bench.store.move(other, to: Bench.key(.partial, 7)))
    // A key without an epoch has no successor.
    try bench.store.claim(Bench.key(.partial, 7), as: Bench.key(.draft, 0, attempt: 3), size: 1)
  }

  /// A commit must not replace a successor's partial blob. Keys that only one writer uses are replaced.
  @Test(arguments: BlobKind.durable) func `commit does not replace the blob of a successor`(_ kind: BlobKind)
    async throws
  {
    let bench = try Bench(kind)
    let partial = Bench.key(.partial, 4)
    try await bench.put([1], partial)
    let writer = bench.writer(Bench.key(.draft, 4))
    _ = writer.append([2])
    guard case .failure(let error) = await bench.finish(writer, as: partial) else {
      Issue.record("the blob was committed, but a failure was expected")
      return
    }
    #expect(error.reason == .fencedOff && bench.bytes(partial) == [1] && bench.names() == [partial])
    for again in [Bench.key(.partial, 0, attempt: 1), Bench.key(.body, 4)] {
      try await bench.put([1], again)
      try await bench.put([2], again)
      #expect(bench.bytes(again) == [2])
    }
  }
}
