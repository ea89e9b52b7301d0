internal import BlobStore
internal import TransferModel

/// What earlier processes had got of downloads, and the next attempt goes on from.
struct Salvage {
  private let blobs: any BlobStore
  private let stamp: BlobStamp
  /// Unfinished files by task; listed on first use.
  private var unfinished: [TaskID: [BlobKey]]?

  /// - Parameter stamp: of the new owner: what it keeps stays under that.
  init(_ blobs: any BlobStore, as stamp: BlobStamp) {
    self.blobs = blobs
    self.stamp = stamp
  }

  /// Keeps the file from which a task resumes and deletes its other unfinished files. Earlier owners died before a row referred to those,
  /// so the task's end would not delete them.
  /// - Parameters:
  ///   - point: the download point in the task's row, of this task or of an earlier one; nil if the row has none.
  ///   - given: the resume point that the task was created with; used if `point` is nil.
  mutating func takeOver(_ task: TaskID, at point: DownloadPoint?, given: DownloadPoint? = nil) async
    -> DownloadPoint?
  {
    var kept: DownloadPoint?
    if let point, point.source == task {
      kept = await keep(point)
    } else if let given = point ?? given {
      await giveBack(given, from: task)
    }
    for key in await unfinished(of: task) where key != kept?.key { await delete(key) }
    return kept
  }

  /// Keeps what a task had got itself; nil where nothing is left of it.
  private mutating func keep(_ point: DownloadPoint) async -> DownloadPoint? {
    var kept = point
    // An earlier owner that wakes late takes nothing that is a later one's.
    kept.blob = stamp
    if await !move(point.key.part(.draft), to: kept.key), kept.key != point.key {
      await move(point.key, to: kept.key)
    }
    var size = await size(of: kept.key)
    if size == nil, let left = await unfinished(of: point.source).max(by: Self.isEarlier) {
      // It went on under another stamp, and its row does not say so yet.
      await move(left, to: kept.key)
      size = await self.size(of: kept.key)
    }
    guard let size, size > 0 else {
      if size != nil { await delete(kept.key) }
      return nil
    }
    kept.partial.offset = size
    return kept
  }

  /// Gives back what a task had taken of another's and not gone on with, where all of it is still there.
  private mutating func giveBack(_ point: DownloadPoint, from task: TaskID) async {
    guard await size(of: point.key) == nil else { return }
    var draft: BlobKey?
    for key in await unfinished(of: task).filter({ $0.part == .draft }).sorted(by: Self.isEarlier)
    where await size(of: key) ?? -1 >= point.partial.offset { draft = key }
    if let draft { await move(draft, to: point.key) }
  }

  private mutating func unfinished(of task: TaskID) async -> [BlobKey] {
    if let unfinished { return unfinished[task] ?? [] }
    // Files of a later owner are not touched. If listing fails, the files are left to the sweep.
    let found = try? await blobs.keys(.tasks) { [stamp] key in
      (key.part == .draft || key.part == .partial) && key.stamp.epoch <= stamp.epoch
    }
    let known = Dictionary(grouping: found ?? []) { $0.task ?? task }
    unfinished = known
    return known[task] ?? []
  }

  private static func isEarlier(_ left: BlobKey, _ right: BlobKey) -> Bool {
    (left.stamp.epoch, left.stamp.attempt) < (right.stamp.epoch, right.stamp.attempt)
  }

  private func size(of key: BlobKey) async -> Int64? {
    try? await blobAnswer { [blobs] in blobs.size(of: key, $0) }
  }

  /// - Returns: false if there was nothing to move.
  @discardableResult
  private func move(_ key: BlobKey, to other: BlobKey) async -> Bool {
    (try? await blobAnswer { [blobs] in blobs.move(key, to: other, $0) }) != nil
  }

  private func delete(_ key: BlobKey) async {
    try? await blobAnswer { [blobs] in blobs.delete(key, $0) }
  }
}
