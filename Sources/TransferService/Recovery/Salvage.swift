internal import BlobStore
internal import Logging
internal import TransferModel

/// The partial files of downloads that earlier processes left, and from which the next attempts resume.
struct Salvage {
  private let blobs: any BlobStore
  private let stamp: BlobStamp
  private let logger: Logger
  /// Unfinished files by task; listed once, on first use.
  private var listed: Result<[TaskID: [BlobKey]], BlobError>?
  /// The store failed a call: partial files may be under keys that no row names.
  private(set) var hasFailed = false

  /// - Parameter stamp: of the new owner: what it keeps stays under that.
  init(_ blobs: any BlobStore, as stamp: BlobStamp, _ logger: Logger) {
    self.blobs = blobs
    self.stamp = stamp
    self.logger = logger
  }

  /// Keeps the file from which a task resumes and deletes its other unfinished files. Earlier owners died before a row referred to those,
  /// so the task's end would not delete them. If a call of the store fails, no file is moved or deleted, and a point of the task's own is kept:
  /// if its file is missing later, the download restarts.
  /// - Parameters:
  ///   - point: the download point in the task's row, of this task or of an earlier one; nil if the row has none.
  ///   - given: the resume point that the task was created with; used if `point` is nil.
  mutating func takeOver(_ task: TaskID, at point: DownloadPoint?, given: DownloadPoint? = nil)
    async -> DownloadPoint?
  {
    do throws(BlobError) { return try await files(of: task, at: point, given) } catch {
      if case .failure? = listed, hasFailed { return point?.source == task ? point : nil }
      hasFailed = true
      logger.error(
        "cannot take over the partial files of a task; it may start from its beginning",
        metadata: ["task": "\(task)", "reason": "\(error.message)"])
      return point?.source == task ? point : nil
    }
  }

  private mutating func files(
    of task: TaskID, at point: DownloadPoint?, _ given: DownloadPoint?
  ) async throws(BlobError) -> DownloadPoint? {
    // Listed before any file is moved: if a call fails, all files are where the rows say.
    let unfinished = try await unfinished(of: task)
    var kept: DownloadPoint?
    if let point, point.source == task {
      kept = try await keep(point, unfinished)
    } else if let given = point ?? given {
      try await giveBack(given, from: unfinished)
    }
    for key in unfinished where key != kept?.key { await delete(key) }
    return kept
  }

  /// Keeps the task's own file that has come furthest; nil if there is none.
  private func keep(_ point: DownloadPoint, _ unfinished: [BlobKey]) async throws(BlobError) -> DownloadPoint?
  {
    var kept = point
    // An earlier owner that wakes late takes nothing that is a later one's.
    kept.blob = stamp
    // If an earlier recovery moved the file already, it stays. The last one went on under a stamp that its row does not name yet.
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

  /// Gives back what a task had taken of another's and not gone on with, where all of it is still there.
  private func giveBack(_ point: DownloadPoint, from unfinished: [BlobKey]) async throws(BlobError) {
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
