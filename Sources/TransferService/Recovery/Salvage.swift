internal import BlobStore
internal import TransferModel

/// What earlier processes had got of downloads, and the next attempt goes on from.
struct Salvage {
  private let blobs: any BlobStore
  /// What was being written, by task; read when it is first needed, which is seldom: a row tells where to look.
  private var drafts: [TaskID: [BlobKey]]?

  init(_ blobs: any BlobStore) { self.blobs = blobs }

  /// Keeps what a task had got itself; nil where nothing is left of it.
  mutating func keep(_ point: DownloadPoint) -> DownloadPoint? {
    blobs.move(point.key.part(.draft), to: point.key)
    var size = blobs.size(of: point.key)
    if size == nil, let draft = drafts(of: point.source).max(by: Self.isEarlier) {
      // It went on under another stamp, and its row does not say so yet.
      blobs.move(draft, to: point.key)
      size = blobs.size(of: point.key)
    }
    guard let size, size > 0 else { return nil }
    var kept = point
    kept.partial.offset = size
    return kept
  }

  /// Gives back what a task had taken of another's and not gone on with, where all of it is still there.
  mutating func giveBack(_ point: DownloadPoint, from task: TaskID) {
    guard blobs.size(of: point.key) == nil else { return }
    let draft = drafts(of: task).filter { blobs.size(of: $0) ?? -1 >= point.partial.offset }
      .max(by: Self.isEarlier)
    if let draft { blobs.move(draft, to: point.key) }
  }

  private mutating func drafts(of task: TaskID) -> [BlobKey] {
    let known =
      drafts ?? Dictionary(grouping: blobs.list(.tasks).filter { $0.part == .draft }) { $0.task ?? task }
    drafts = known
    return known[task] ?? []
  }

  private static func isEarlier(_ left: BlobKey, _ right: BlobKey) -> Bool {
    (left.stamp.epoch, left.stamp.attempt) < (right.stamp.epoch, right.stamp.attempt)
  }
}
