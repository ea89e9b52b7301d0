internal import BlobStore
internal import Logging
internal import TransferModel

/// The partial files of downloads that earlier processes left, and from which the next attempts resume.
struct Salvage {
  private let blobs: any BlobStore
  private let stamp: BlobStamp
  private let logger: Logger
  /// Unfinished files by task; listed on first use.
  private var unfinished: [TaskID: [BlobKey]]?

  /// - Parameter stamp: of the new owner: what it keeps stays under that.
  init(_ blobs: any BlobStore, as stamp: BlobStamp, _ logger: Logger) {
    self.blobs = blobs
    self.stamp = stamp
    self.logger = logger
  }

  /// Keeps the file from which a task resumes and deletes its other unfinished files. Earlier owners died before a row referred to those,
  /// so the task's end would not delete them. If the store fails a call, nothing is deleted: the task keeps its point, and starts from its
  /// beginning if the bytes are not there.
  /// - Parameters:
  ///   - point: the download point in the task's row, of this task or of an earlier one; nil if the row has none.
  ///   - given: the resume point that the task was created with; used if `point` is nil.
  mutating func takeOver(_ task: TaskID, at point: DownloadPoint?, given: DownloadPoint? = nil)
    async -> DownloadPoint?
  {
    do throws(BlobError) { return try await files(of: task, at: point, given) } catch {
      logger.error(
        "cannot take over the partial files of a task; it may start from its beginning",
        metadata: ["task": "\(task)", "reason": "\(error.message)"])
      return point?.source == task ? point : nil
    }
  }

  private mutating func files(
    of task: TaskID, at point: DownloadPoint?, _ given: DownloadPoint?
  ) async throws(BlobError) -> DownloadPoint? {
    var kept: DownloadPoint?
    if let point, point.source == task {
      kept = try await keep(point)
    } else if let given = point ?? given {
      try await giveBack(given, from: task)
    }
    for key in try await unfinished(of: task) where key != kept?.key { await delete(key) }
    return kept
  }

  /// Keeps what a task had got itself; nil where nothing is left of it.
  private mutating func keep(_ point: DownloadPoint) async throws(BlobError) -> DownloadPoint? {
    var kept = point
    // An earlier owner that wakes late takes nothing that is a later one's.
    kept.blob = stamp
    // A repeated recovery must not replace what the first one has moved.
    let moved = kept.key == point.key ? nil : try await size(of: kept.key)
    if moved == nil, try await !move(point.key.part(.draft), to: kept.key) {
      try await move(point.key, to: kept.key)
    }
    var size = try await size(of: kept.key)
    if size == nil, let left = try await unfinished(of: point.source).max(by: Self.isEarlier) {
      // It went on under another stamp, and its row does not say so yet.
      try await move(left, to: kept.key)
      size = try await self.size(of: kept.key)
    }
    guard let size, size > 0 else {
      if size != nil { await delete(kept.key) }
      return nil
    }
    kept.partial.offset = size
    return kept
  }

  /// Gives back what a task had taken of another's and not gone on with, where all of it is still there.
  private mutating func giveBack(_ point: DownloadPoint, from task: TaskID) async throws(BlobError) {
    guard try await size(of: point.key) == nil else { return }
    var draft: BlobKey?
    for key in try await unfinished(of: task).filter({ $0.part == .draft }).sorted(by: Self.isEarlier)
    where try await size(of: key) ?? -1 >= point.partial.offset { draft = key }
    if let draft { try await move(draft, to: point.key) }
  }

  private mutating func unfinished(of task: TaskID) async throws(BlobError) -> [BlobKey] {
    if let unfinished { return unfinished[task] ?? [] }
    // Files of a later owner are not touched.
    let found = try await blobs.keys(.tasks) { [stamp] key in
      (key.part == .draft || key.part == .partial) && key.stamp.epoch <= stamp.epoch
    }
    let known = Dictionary(grouping: found) { $0.task ?? task }
    unfinished = known
    return known[task] ?? []
  }

  private static func isEarlier(_ left: BlobKey, _ right: BlobKey) -> Bool {
    (left.stamp.epoch, left.stamp.attempt) < (right.stamp.epoch, right.stamp.attempt)
  }

  /// Bytes; nil if there is no such file.
  private func size(of key: BlobKey) async throws(BlobError) -> Int64? {
    try await blobAnswerIfAny { [blobs] in blobs.size(of: key, $0) }
  }

  /// - Returns: false if there was nothing to move.
  @discardableResult
  private func move(_ key: BlobKey, to other: BlobKey) async throws(BlobError) -> Bool {
    guard key != other else { return true }
    return try await blobAnswerIfAny { [blobs] in blobs.move(key, to: other, $0) } != nil
  }

  /// A file that cannot be deleted is left to the sweep.
  private func delete(_ key: BlobKey) async {
    try? await blobAnswer { [blobs] in blobs.delete(key, $0) }
  }
}
