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
  mutating func takeOver(_ task: TaskID, at point: DownloadPoint?, given: DownloadPoint? = nil)
    -> DownloadPoint?
  {
    var kept: DownloadPoint?
    if let point, point.source == task {
      kept = keep(point)
    } else if let given = point ?? given {
      giveBack(given, from: task)
    }
    for key in unfinished(of: task) where key != kept?.key { blobs.delete(key) }
    return kept
  }

  /// Keeps what a task had got itself; nil where nothing is left of it.
  private mutating func keep(_ point: DownloadPoint) -> DownloadPoint? {
    var kept = point
    // An earlier owner that wakes late takes nothing that is a later one's.
    kept.blob = stamp
    if !blobs.move(point.key.part(.draft), to: kept.key), kept.key != point.key {
      blobs.move(point.key, to: kept.key)
    }
    var size = blobs.size(of: kept.key)
    if size == nil, let left = unfinished(of: point.source).max(by: Self.isEarlier) {
      // It went on under another stamp, and its row does not say so yet.
      blobs.move(left, to: kept.key)
      size = blobs.size(of: kept.key)
    }
    guard let size, size > 0 else {
      if size != nil { blobs.delete(kept.key) }
      return nil
    }
    kept.partial.offset = size
    return kept
  }

  /// Gives back what a task had taken of another's and not gone on with, where all of it is still there.
  private mutating func giveBack(_ point: DownloadPoint, from task: TaskID) {
    guard blobs.size(of: point.key) == nil else { return }
    let drafts = unfinished(of: task).filter { $0.part == .draft }
    let draft = drafts.filter { blobs.size(of: $0) ?? -1 >= point.partial.offset }.max(by: Self.isEarlier)
    if let draft { blobs.move(draft, to: point.key) }
  }

  private mutating func unfinished(of task: TaskID) -> [BlobKey] {
    let known =
      unfinished
      ?? Dictionary(grouping: blobs.list(.tasks).filter { $0.part == .draft || $0.part == .partial }) {
        $0.task ?? task
      }
    unfinished = known
    return known[task] ?? []
  }

  private static func isEarlier(_ left: BlobKey, _ right: BlobKey) -> Bool {
    (left.stamp.epoch, left.stamp.attempt) < (right.stamp.epoch, right.stamp.attempt)
  }
}
