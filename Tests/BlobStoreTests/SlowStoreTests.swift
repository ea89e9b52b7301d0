import BlobStore
import EventLoop
import SimulatedStores
import Synchronization
import TestSupport
import Testing
import TransferModel

/// Writers of a store that completes its calls when the test says so.
@Suite(.endsInTime) struct SlowStoreTests {
  private typealias Bench = BlobBench
  private typealias Calls = SlowCalls
  private typealias Told<Value: Sendable> = CompletionLog<Value>

  private static let (draft, body) = (Bench.key(.draft), Bench.key(.body))

  private static func reason(_ finished: BlobWriter.Finished?) -> BlobError.Reason? {
    guard case .failure(let error) = finished else { return nil }
    return error.reason
  }

  private func finish(_ writer: BlobWriter) -> Told<BlobWriter.Finished> {
    let told = Told<BlobWriter.Finished>()
    writer.finish(as: Self.body) { told.tell($0) }
    return told
  }

  private func discard(_ writer: BlobWriter) -> Told<Void> {
    let told = Told<Void>()
    writer.discard { told.tell(()) }
    return told
  }

  // MARK: Writing

  /// A chunk is written after the write before it has completed, and the commit comes last.
  @Test func chunksAreWrittenInOrder() async throws {
    let (bench, calls) = (try Bench(.memory), Calls())
    let writer = bench.writer(Self.draft, in: calls.store)
    let pieces = (0..<20).map { [UInt8](repeating: UInt8($0), count: 1000 + $0) }
    for piece in pieces { _ = writer.append(piece) }
    let told = finish(writer)
    try await calls.answer(.create)
    for (index, _) in pieces.enumerated() {
      let write = try await calls.next(.write)
      #expect(writer.readable.count == pieces[..<index].reduce(0) { $0 + Int64($1.count) })
      #expect(!writer.readable.isAll && told.all.isEmpty)
      write.answer()
    }
    let commit = try await calls.next(.commit)
    #expect(told.all.isEmpty && calls.memory.list(.tasks) == [Self.draft])
    commit.answer()
    let whole = pieces.flatMap(\.self)
    let (size, sha256) = try #require(told.wait()).get()
    #expect(size == Int64(whole.count) && sha256 == Bench.sha256(whole))
    #expect(try calls.memory.open(Self.body).wait(at: 0, maximum: 1 << 20) == whole && told.all.count == 1)
  }

  /// Chunks count as waiting until their writes complete.
  @Test func writerIsDrainedAtTheLowWaterMark() async throws {
    let (bench, calls, drained) = (try Bench(.memory), Calls(), Told<Void>())
    let writer = bench.writer(Self.draft, in: calls.store)
    let piece = [UInt8](repeating: 1, count: BlobWriter.chunkSize)
    var count = 0
    while writer.append(piece) <= BlobWriter.highWater { count += 1 }
    #expect(count == BlobWriter.highWater / BlobWriter.chunkSize && !writer.isDrained)
    writer.whenDrained { drained.tell(()) }
    try await calls.answer(.create)
    let most = BlobWriter.lowWater / BlobWriter.chunkSize
    for _ in 0..<count - most { try await calls.answer(.write) }
    // The next call starts after the last result was recorded.
    let next = try await calls.next(.write)
    #expect(drained.all.isEmpty && !writer.isDrained)
    next.answer()
    #expect(drained.wait() != nil && writer.isDrained)
    for _ in 0..<most { try await calls.answer(.write) }
    _ = discard(writer)
    try await calls.answer(.discard)
    #expect(drained.all.count == 1)
  }

  @Test func discardCancelsAWriteInFlight() async throws {
    let (bench, calls) = (try Bench(.memory), Calls())
    let writer = bench.writer(Self.draft, in: calls.store)
    for _ in 0..<3 { _ = writer.append([1, 2, 3]) }
    let finished = finish(writer)
    try await calls.answer(.create)
    let write = try await calls.next(.write)
    let told = discard(writer)
    let discard = try await calls.next(.discard)
    #expect(!write.answer(), "the running write is cancelled")
    #expect(told.all.isEmpty, "the key is in use until the discard ends")
    discard.answer()
    #expect(told.wait() != nil && Self.reason(finished.wait()) == .cancelled)
    #expect(calls.memory.list(.tasks).isEmpty && told.all.count == 1 && finished.all.count == 1)
  }

  @Test func `each of two discards completes`() async throws {
    let (bench, calls) = (try Bench(.memory), Calls())
    let writer = bench.writer(Self.draft, in: calls.store)
    _ = writer.append([1, 2, 3])
    let create = try await calls.next(.create)
    let (first, second) = (discard(writer), discard(writer))
    create.answer()
    try await calls.answer(.discard)
    #expect(first.wait() != nil && second.wait() != nil && discard(writer).wait() != nil)
    #expect(first.all.count == 1 && second.all.count == 1)
  }

  @Test func `append after a discard does not wait`() async throws {
    let (bench, calls, drained) = (try Bench(.memory), Calls(), Told<Void>())
    let writer = bench.writer(Self.draft, in: calls.store)
    _ = writer.append([1])
    let create = try await calls.next(.create)
    let told = discard(writer)
    _ = writer.append([UInt8](repeating: 1, count: BlobWriter.lowWater + 1))
    writer.whenDrained { drained.tell(()) }
    #expect(drained.wait() != nil && writer.isDrained)
    create.answer()
    try await calls.answer(.discard)
    #expect(told.wait() != nil)
  }

  @Test func discardDeletesADraftThatIsBeingCreated() async throws {
    let (bench, calls) = (try Bench(.memory), Calls())
    let writer = bench.writer(Self.draft, in: calls.store)
    _ = writer.append([1, 2, 3])
    let create = try await calls.next(.create)
    let told = discard(writer)
    create.answer()
    // There is no draft to cancel yet. It is deleted after its creation.
    try await calls.answer(.discard)
    #expect(told.wait() != nil && calls.memory.list(.tasks).isEmpty)
  }

  @Test func discardCancelsACommitInFlight() async throws {
    let (bench, calls) = (try Bench(.memory), Calls())
    let writer = bench.writer(Self.draft, in: calls.store)
    _ = writer.append([1, 2, 3])
    let finished = finish(writer)
    try await calls.answer(.create, .write)
    let commit = try await calls.next(.commit)
    let told = discard(writer)
    let discard = try await calls.next(.discard)
    #expect(!commit.answer())
    #expect(told.all.isEmpty)
    discard.answer()
    #expect(Self.reason(finished.wait()) == .cancelled && told.wait() != nil)
    #expect(calls.memory.list(.tasks).isEmpty && finished.all.count == 1 && told.all.count == 1)
  }

  /// The draft's key may belong to another draft by then.
  @Test(arguments: BlobKind.allCases) func discardAfterTheCommitDeletesNothing(_ kind: BlobKind) async throws
  {
    let bench = try Bench(kind)
    let writer = bench.writer(Self.draft)
    _ = writer.append([1, 2, 3])
    _ = try await bench.finish(writer, as: Self.body).get()
    try bench.store.create(Self.draft).write([[9]], at: 0)
    #expect(discard(writer).wait() != nil)
    #expect(bench.names() == [Self.draft, Self.body] && bench.bytes(Self.draft) == [9])
  }

  @Test(arguments: BlobKind.allCases) func commitAfterTheDiscardIsCancelled(_ kind: BlobKind) async throws {
    let bench = try Bench(kind)
    let writer = bench.writer(Self.draft)
    _ = writer.append([1, 2, 3])
    #expect(discard(writer).wait() != nil)
    #expect(Self.reason(await bench.finish(writer, as: Self.body)) == .cancelled && bench.names().isEmpty)
  }

  @Test func discardThatKeepsBytesForReadersWritesThemAll() async throws {
    let (bench, calls) = (try Bench(.memory), Calls())
    let writer = bench.writer(Self.draft, in: calls.store)
    _ = writer.append([1, 2])
    _ = writer.append([3, 4])
    try await calls.answer(.create)
    let write = try await calls.next(.write)
    let reader = try #require(writer.reader())
    let told = Told<Void>()
    writer.discard(keepsForReaders: true) { told.tell(()) }
    #expect(write.answer(), "the write continues for the reader")
    try await calls.answer(.write)
    let discard = try await calls.next(.discard)
    #expect(writer.readable == (4, true))
    discard.answer()
    #expect(told.wait() != nil)
    reader.fetch(at: 0, count: 9) { _ in }
    try await calls.answer(.fetch)
    #expect(reader.read(at: 0, maximum: 9) == .bytes([1, 2, 3, 4]))
  }

  @Test(arguments: [0, 1, 2]) func failedWriteFailsTheWriter(_ good: Int) async throws {
    let (bench, calls, drained) = (try Bench(.memory), Calls(), Told<Void>())
    let writer = bench.writer(Self.draft, in: calls.store)
    let piece = [UInt8](repeating: 1, count: BlobWriter.lowWater)
    for _ in 0..<4 { _ = writer.append(piece) }
    let finished = finish(writer)
    writer.whenDrained { drained.tell(()) }
    try await calls.answer(.create)
    for _ in 0..<good { try await calls.answer(.write) }
    try await calls.next(.write).fail(BlobError(.full, "no room"))
    #expect(drained.wait() != nil)
    try await calls.answer(.discard)
    #expect(Self.reason(finished.wait()) == .full && calls.memory.list(.tasks).isEmpty)
    #expect(writer.append(piece) >= 0 && writer.reader() == nil && finished.all.count == 1)
    #expect(discard(writer).wait() != nil)
  }

  // MARK: Resumed drafts

  private func leave(_ bytes: [UInt8], in calls: Calls) throws {
    try calls.memory.create(Self.draft).write([bytes], at: 0)
  }

  @Test func resumedDraftIsDigestedFromSlowFetches() async throws {
    let (bench, calls) = (try Bench(.memory), Calls())
    let start = (0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 / 11) }
    try leave(start, in: calls)
    let writer = BlobWriter(resuming: Self.draft, at: Int64(start.count), in: calls.store, on: bench.pool)
    _ = writer.append([1, 2, 3])
    let finished = finish(writer)
    try await calls.answer(.open, .fetch, .fetch, .fetch)
    #expect(finished.all.isEmpty)
    try await calls.answer(.reopen, .write, .commit)
    let sha256 = try #require(finished.wait()).get().sha256
    #expect(sha256 == Bench.sha256(start + [1, 2, 3]))
  }

  @Test(arguments: [false, true]) func discardCancelsTheDigestOfTheStart(_ isOpen: Bool) async throws {
    let (bench, calls) = (try Bench(.memory), Calls())
    try leave([UInt8](repeating: 1, count: 2_000_000), in: calls)
    let writer = BlobWriter(resuming: Self.draft, at: 2_000_000, in: calls.store, on: bench.pool)
    if isOpen { try await calls.answer(.open) }
    let open = isOpen ? nil : try await calls.next(.open)
    let fetch = isOpen ? try await calls.next(.fetch) : nil
    let told = discard(writer)
    open?.answer()
    if let fetch { #expect(!fetch.answer()) }
    try await calls.answer(.delete)
    #expect(told.wait() != nil && calls.memory.list(.tasks).isEmpty)
  }

  @Test func failedFetchOfTheStartFailsTheWriter() async throws {
    let (bench, calls) = (try Bench(.memory), Calls())
    try leave([UInt8](repeating: 1, count: 2_000_000), in: calls)
    let writer = BlobWriter(resuming: Self.draft, at: 2_000_000, in: calls.store, on: bench.pool)
    let finished = finish(writer)
    try await calls.answer(.open, .fetch)
    try await calls.next(.fetch).fail(BlobError(.refused, "no network"))
    try await calls.answer(.delete)
    #expect(Self.reason(finished.wait()) == .refused)
  }

  // MARK: Immediate completions

  /// Each call completes before it returns. A frame for each would overflow the stack.
  @Test func promptWritesDoNotRecurse() async throws {
    let (bench, memory) = (try Bench(.memory), MemoryBlobs())
    let store = SlowBlobs(memory) { $0.answer() }
    let writer = bench.writer(Self.draft, in: store)
    let (pieces, gate) = (60_000, Gate())
    // All chunks wait when the first one is written.
    for _ in 0..<2 { bench.pool.submit { _ = gate.wait() } }
    for _ in 0..<pieces { _ = writer.append([7]) }
    gate.open()
    let (size, sha256) = try await bench.finish(writer, as: Self.body).get()
    #expect(size == Int64(pieces) && sha256 == Bench.sha256([UInt8](repeating: 7, count: pieces)))
  }
}
