import BlobStore
import Logging
import SimulatedStores
import Testing
import TransferModel

@testable import TransferService

/// The recovery of partial downloads at a start.
@Suite struct PartialDownloadRecoveryTests {
  private let blobs = MemoryBlobs()
  private let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
  /// The new owner's stamp.
  private static let stamp = BlobStamp(epoch: 9)
  private static let (task, other) = (TaskID(high: 1, low: 1), TaskID(high: 1, low: 2))

  private func put(_ count: Int, _ key: BlobKey) throws {
    try blobs.create(key).write([[UInt8](repeating: 1, count: count)], at: 0)
  }

  private static func point(_ source: TaskID, _ stamp: BlobStamp?, offset: Int64 = 0) -> DownloadPoint {
    DownloadPoint(
      partial: PartialBody(offset: offset, total: 9, validator: "v"), source: source, blob: stamp)
  }

  @Test(arguments: [nil, BlobStamp(epoch: 3), BlobStamp(attempt: 2)]) func draftIsKept(_ stamp: BlobStamp?)
    async throws
  {
    let point = Self.point(Self.task, stamp)
    try put(5, BlobKey(Self.task, .draft, stamp))
    try put(7, BlobKey(Self.other, .draft, stamp))
    var salvage = PartialDownloadRecovery(blobs, as: Self.stamp, logger)
    #expect(await salvage.recover(Self.task, at: point)?.partial.offset == 5)
    let kept = BlobKey(Self.task, .partial, Self.stamp)
    #expect(blobs.size(of: kept) == 5 && blobs.size(of: BlobKey(Self.other, .draft, stamp)) == 7)
    // Another start finds the same file, although the row was not written.
    var again = PartialDownloadRecovery(blobs, as: Self.stamp, logger)
    for _ in 0..<2 {
      let found = await again.recover(Self.task, at: point)
      #expect(found?.partial.offset == 5 && found?.key == kept)
    }
  }

  /// An attempt continued under another stamp, and the process died before its row was written.
  @Test func `bytes under a later stamp are found`() async throws {
    let point = Self.point(Self.task, BlobStamp(epoch: 3))
    try put(4, BlobKey(Self.task, .draft, BlobStamp(epoch: 4, attempt: 9)))
    try put(6, BlobKey(Self.task, .draft, BlobStamp(epoch: 5)))
    var salvage = PartialDownloadRecovery(blobs, as: Self.stamp, logger)
    #expect(await salvage.recover(Self.task, at: point)?.partial.offset == 6)
    #expect(blobs.size(of: BlobKey(Self.task, .partial, Self.stamp)) == 6)
  }

  /// An earlier owner that was frozen and wakes must not touch the file.
  @Test func `kept file belongs to the new owner`() async throws {
    let point = Self.point(Self.task, BlobStamp(epoch: 3))
    try put(5, point.key)
    var salvage = PartialDownloadRecovery(blobs, as: BlobStamp(epoch: 4), logger)
    let found = await salvage.recover(Self.task, at: point)
    let kept = try #require(found)
    #expect(kept.blob == BlobStamp(epoch: 4) && kept.partial.offset == 5 && blobs.list(.tasks) == [kept.key])
    let late = BlobKey(Self.task, .draft, BlobStamp(epoch: 3, attempt: 1))
    #expect(throws: BlobError.self) { try blobs.claim(kept.key, as: late, size: 5) }
    #expect(await salvage.recover(Self.task, at: point) == kept, "a repeated recovery has the same result")
    // The next owner comes before the row was written.
    var next = PartialDownloadRecovery(blobs, as: BlobStamp(epoch: 5), logger)
    #expect(await next.recover(Self.task, at: point)?.partial.offset == 5)
    #expect(blobs.list(.tasks) == [BlobKey(Self.task, .partial, BlobStamp(epoch: 5))])
  }

  /// An owner that was frozen during its start lists the files late.
  @Test func `files of a later owner are not touched`() async throws {
    let later = BlobKey(Self.task, .draft, BlobStamp(epoch: 10))
    try put(5, later)
    var salvage = PartialDownloadRecovery(blobs, as: Self.stamp, logger)
    #expect(await salvage.recover(Self.task, at: Self.point(Self.task, BlobStamp(epoch: 3))) == nil)
    #expect(blobs.list(.tasks) == [later] && blobs.size(of: later) == 5)
  }

  @Test func `task without bytes starts from the beginning`() async throws {
    var salvage = PartialDownloadRecovery(blobs, as: Self.stamp, logger)
    #expect(await salvage.recover(Self.task, at: Self.point(Self.task, nil)) == nil)
    try put(0, BlobKey(Self.task, .draft, nil))
    #expect(await salvage.recover(Self.task, at: Self.point(Self.task, nil)) == nil)
    #expect(blobs.list(.tasks).isEmpty, "an empty file is deleted")
  }

  /// Nothing is deleted, the task keeps its point, and the next recovery finds the bytes.
  @Test(
    arguments: [SlowBlobs.Call.size, .move, .list],
    [point(task, BlobStamp(epoch: 3)), point(other, nil, offset: 5)])
  func storeThatFailsForAWhileLosesNoBytes(_ call: SlowBlobs.Call, _ point: DownloadPoint) async throws {
    try put(5, BlobKey(Self.task, .draft, BlobStamp(epoch: 4, attempt: 1)))
    try put(3, BlobKey(Self.task, .partial, BlobStamp(epoch: 2)))
    let (isOwn, failing) = (point.source == Self.task, SlowBlobs(blobs) { $0.answer() })
    var salvage = PartialDownloadRecovery(failing, as: Self.stamp, logger)
    failing.refuse(call)
    #expect(await salvage.recover(Self.task, at: point) == (isOwn ? point : nil))
    #expect(blobs.list(.tasks).compactMap { blobs.size(of: $0) }.sorted() == [3, 5])
    failing.refuse()
    var next = PartialDownloadRecovery(failing, as: Self.stamp, logger)
    let kept = await next.recover(Self.task, at: point)
    #expect(kept?.partial.offset == (isOwn ? 5 : nil))
    #expect(blobs.list(.tasks) == [kept?.key ?? point.key] && blobs.size(of: kept?.key ?? point.key) == 5)
  }

  /// The first recovery moved the draft and then failed.
  @Test func repeatedRecoveryReplacesNothingThatWasMoved() async throws {
    let point = Self.point(Self.task, BlobStamp(epoch: 3))
    try put(7, point.key.part(.draft))
    try put(5, point.key)
    for _ in 0..<2 {
      var salvage = PartialDownloadRecovery(blobs, as: Self.stamp, logger)
      #expect(await salvage.recover(Self.task, at: point)?.partial.offset == 7)
    }
  }

  @Test func `unused bytes of another task are returned`() async throws {
    let point = Self.point(Self.other, BlobStamp(epoch: 2), offset: 5)
    let draft = BlobKey(Self.task, .draft, BlobStamp(epoch: 3))
    try put(4, draft)
    var salvage = PartialDownloadRecovery(blobs, as: Self.stamp, logger)
    _ = await salvage.recover(Self.task, at: point)
    #expect(blobs.list(.tasks).isEmpty, "a file that is too short is deleted")
    try put(5, draft)
    _ = await salvage.recover(Self.task, at: point)
    #expect(blobs.list(.tasks) == [point.key])
    // The other task's file is still in its place.
    try put(8, draft)
    _ = await salvage.recover(Self.task, at: point)
    #expect(blobs.size(of: point.key) == 5 && blobs.list(.tasks) == [point.key])
  }

  /// The owners died after creating a file and before a row named it, so the task's end would not delete it.
  @Test(arguments: [nil, point(task, BlobStamp(epoch: 3)), point(other, BlobStamp(epoch: 2))])
  func unreferencedFilesAreDeleted(_ point: DownloadPoint?) async throws {
    let others = [
      BlobKey(Self.task, .body, BlobStamp(epoch: 3)), BlobKey(Self.other, .draft, BlobStamp(epoch: 3)),
      BlobKey(Self.other, .partial, BlobStamp(epoch: 2)), BlobKey(Self.task, .request, BlobStamp(epoch: 3)),
    ]
    for key in others { try put(3, key) }
    if point?.source == Self.task { try put(2, BlobKey(Self.task, .draft, BlobStamp(epoch: 3))) }
    for epoch: Int64 in 4...6 {
      try put(1, BlobKey(Self.task, .draft, BlobStamp(epoch: epoch, attempt: 1)))
      try put(1, BlobKey(Self.task, .partial, BlobStamp(epoch: epoch)))
    }
    var salvage = PartialDownloadRecovery(blobs, as: Self.stamp, logger)
    let kept = await salvage.recover(Self.task, at: point)
    #expect((kept != nil) == (point?.source == Self.task))
    #expect(Set(blobs.list(.tasks)) == Set(others + [kept?.key].compactMap(\.self)))
  }
}
