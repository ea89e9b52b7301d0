import BlobStore
import MemoryStore
import Testing
import TransferModel

@testable import TransferService

/// What a start finds of downloads under way.
@Suite struct SalvageTests {
  private let blobs = MemoryBlobs()
  /// Of the new owner.
  private static let stamp = BlobStamp(epoch: 9)
  private static let (task, other) = (TaskID(high: 1, low: 1), TaskID(high: 1, low: 2))

  private func put(_ count: Int, _ key: BlobKey) throws {
    try blobs.create(key).write([[UInt8](repeating: 1, count: count)], at: 0)
  }

  private static func point(_ source: TaskID, _ stamp: BlobStamp?, offset: Int64 = 0) -> DownloadPoint {
    DownloadPoint(
      partial: PartialBody(offset: offset, total: 9, validator: "v"), source: source, blob: stamp)
  }

  @Test(arguments: [nil, BlobStamp(epoch: 3), BlobStamp(attempt: 2)]) func aDraftIsKept(_ stamp: BlobStamp?)
    throws
  {
    let point = Self.point(Self.task, stamp)
    try put(5, BlobKey(Self.task, .draft, stamp))
    try put(7, BlobKey(Self.other, .draft, stamp))
    var salvage = Salvage(blobs, as: Self.stamp)
    #expect(salvage.keep(point)?.partial.offset == 5)
    let kept = BlobKey(Self.task, .partial, Self.stamp)
    #expect(blobs.size(of: kept) == 5 && blobs.size(of: BlobKey(Self.other, .draft, stamp)) == 7)
    // The next start finds the same, though the row was not written.
    var again = Salvage(blobs, as: Self.stamp)
    #expect(again.keep(point)?.partial.offset == 5 && again.keep(point)?.key == kept)
  }

  /// The bytes were taken up under another stamp, and the process died before its row said so.
  @Test func whatWentOnUnderAnotherStampIsFound() throws {
    let point = Self.point(Self.task, BlobStamp(epoch: 3))
    try put(4, BlobKey(Self.task, .draft, BlobStamp(epoch: 4, attempt: 9)))
    try put(6, BlobKey(Self.task, .draft, BlobStamp(epoch: 5)))
    var salvage = Salvage(blobs, as: Self.stamp)
    #expect(salvage.keep(point)?.partial.offset == 6)
    #expect(blobs.size(of: BlobKey(Self.task, .partial, Self.stamp)) == 6)
  }

  /// An earlier owner that stood still and wakes up takes nothing of what its successor keeps.
  @Test func whatIsKeptIsTheNewOwners() throws {
    let point = Self.point(Self.task, BlobStamp(epoch: 3))
    try put(5, point.key)
    var salvage = Salvage(blobs, as: BlobStamp(epoch: 4))
    let found = salvage.keep(point)
    let kept = try #require(found)
    #expect(kept.blob == BlobStamp(epoch: 4) && kept.partial.offset == 5 && blobs.list(.tasks) == [kept.key])
    let late = BlobKey(Self.task, .draft, BlobStamp(epoch: 3, attempt: 1))
    #expect(throws: BlobError.self) { try blobs.take(kept.key, as: late, size: 5) }
    #expect(salvage.keep(point) == kept, "asked again")
    // Its row was not written before the next owner came.
    var next = Salvage(blobs, as: BlobStamp(epoch: 5))
    #expect(next.keep(point)?.partial.offset == 5)
    #expect(blobs.list(.tasks) == [BlobKey(Self.task, .partial, BlobStamp(epoch: 5))])
  }

  @Test func whereNothingIsLeftItBeginsAnew() throws {
    var salvage = Salvage(blobs, as: Self.stamp)
    #expect(salvage.keep(Self.point(Self.task, nil)) == nil)
    try put(0, BlobKey(Self.task, .draft, nil))
    #expect(salvage.keep(Self.point(Self.task, nil)) == nil)
    #expect(blobs.list(.tasks).isEmpty, "an empty file would stay behind when the task has ended")
  }

  @Test func whatWasTakenOfAnotherIsGivenBack() throws {
    let point = Self.point(Self.other, BlobStamp(epoch: 2), offset: 5)
    let draft = BlobKey(Self.task, .draft, BlobStamp(epoch: 3))
    try put(4, draft)
    var salvage = Salvage(blobs, as: Self.stamp)
    salvage.giveBack(point, from: Self.task)
    #expect(blobs.list(.tasks) == [draft], "there are fewer bytes than there were")
    try put(5, draft)
    salvage.giveBack(point, from: Self.task)
    #expect(blobs.list(.tasks) == [point.key])
    // Nobody has taken it.
    try put(8, draft)
    salvage.giveBack(point, from: Self.task)
    #expect(blobs.size(of: point.key) == 5)
  }
}
