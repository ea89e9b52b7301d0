internal import BlobStore
internal import Logging
internal import TransferModel

/// Recovers the partial files of downloads that earlier processes left. The next attempts resume from them.
struct PartialDownloadRecovery {
  private let blobs: any BlobStore
  private let stamp: BlobStamp
  private let logger: Logger
  /// Unfinished files by task; listed once, on first use.
  private var listed: Result<[TaskID: [BlobKey]], BlobError>?
  /// Whether a call of the blob store has failed. Then partial files may exist under keys that no row names.
  private(set) var hasFailed = false

  /// - Parameter stamp: the new owner's stamp, under which it keeps the files.
  init(_ blobs: any BlobStore, as stamp: BlobStamp, _ logger: Logger) {
    self.blobs = blobs
    self.stamp = stamp
    self.logger = logger
  }

  /// Keeps the file from which a task resumes and deletes the task's other unfinished files. No row refers to these, so the
  /// task's end would not delete them.
  /// If a call of the blob store fails, no file is moved or deleted, and a point of the task's own is kept. If its file is
  /// missing later, the download restarts.
  /// - Parameters:
  ///   - point: the download point in the task's row, of this task or of an earlier one, or `nil` if the row has none.
  ///   - given: the resume point that the task was created with; used if `point` is `nil`.
  mutating func recover(_ task: TaskID, at point: DownloadPoint?, given: DownloadPoint? = nil)
    async -> DownloadPoint?
  {
    do throws(BlobError) { return try await files(of: task, at: point, given) } catch {
      if case .failure? = listed, hasFailed { return point?.source == task ? point : nil }
      hasFailed = true
      logger.error(
        "cannot take over the partial files of a task; the task may start from its beginning",
        metadata: ["task": "\(task)", "reason": "\(error.message)"])
      return point?.source == task ? point : nil
    }
  }

  private mutating func files(
    of task: TaskID, at point: DownloadPoint?, _ given: DownloadPoint?
  ) async throws(BlobError) -> DownloadPoint? {
    // Listed before any file is moved. If a call fails, the rows still name all files correctly.
    let unfinished = try await unfinished(of: task)
    var kept: DownloadPoint?
    if let point = point ?? given {
      if point.source == task {
        kept = try await keep(point, unfinished)
      } else {
        try await returnToOwner(point, from: unfinished)
      }
    }
    for key in unfinished where key != kept?.key { await delete(key) }
    return kept
  }

  /// Keeps one of the task's own files: the first candidate that has bytes. Returns `nil` if there is none.
  private func keep(_ point: DownloadPoint, _ unfinished: [BlobKey]) async throws(BlobError) -> DownloadPoint?
  {
    var kept = point
    // Under the new stamp, an earlier owner that wakes late cannot touch the file.
    kept.blob = stamp
    // An earlier recovery may have moved the file already. The last attempt wrote under a stamp that its row does not name yet.
    var candidates = [point.key.part(.draft), point.key]
    if kept.key != point.key { candidates.insert(kept.key, at: 0) }
    if let last = unfinished.max(by: Self.isEarlier) { candidates.append(last) }
    for key in candidates {
      guard let size = try await size(of: key) else { continue }
      if size == 0 {
        await delete(key)
      } else if try await move(key, to: kept.key) {
        kept.partial.offset = size
        return kept
      }
    }
    return nil
  }

  /// Moves a draft back to the earlier task's key if the row still names the earlier task and the draft has all of its bytes.
  private func returnToOwner(_ point: DownloadPoint, from unfinished: [BlobKey]) async throws(BlobError) {
    guard try await size(of: point.key) == nil else { return }
    var draft: BlobKey?
    for key in unfinished.filter({ $0.part == .draft }).sorted(by: Self.isEarlier)
    where try await size(of: key) ?? -1 >= point.partial.offset { draft = key }
    if let draft { try await move(draft, to: point.key) }
  }

  private mutating func unfinished(of task: TaskID) async throws(BlobError) -> [BlobKey] {
    if let listed { return try listed.get()[task] ?? [] }
    do throws(BlobError) {
      // Files of a later owner are not touched.
      let found = try await blobs.keys(.tasks) { [stamp] key in
        (key.part == .draft || key.part == .partial) && key.stamp.epoch <= stamp.epoch
      }
      let known = Dictionary(grouping: found) { $0.task ?? task }
      listed = .success(known)
      return known[task] ?? []
    } catch {
      listed = .failure(error)
      throw error
    }
  }

  private static func isEarlier(_ left: BlobKey, _ right: BlobKey) -> Bool {
    (left.stamp.epoch, left.stamp.attempt) < (right.stamp.epoch, right.stamp.attempt)
  }

  /// - Returns: the size in bytes, or `nil` if there is no such file.
  private func size(of key: BlobKey) async throws(BlobError) -> Int64? {
    try await blobAnswerIfAny { [blobs] in blobs.size(of: key, $0) }
  }

  /// - Returns: `false` if there was no file to move.
  @discardableResult
  private func move(_ key: BlobKey, to other: BlobKey) async throws(BlobError) -> Bool {
    guard key != other else { return true }
    return try await blobAnswerIfAny { [blobs] in blobs.move(key, to: other, $0) } != nil
  }

  /// A file that cannot be deleted is left to `OrphanCollector`.
  private func delete(_ key: BlobKey) async {
    try? await awaitBlob { [blobs] in blobs.delete(key, $0) }
  }
}
