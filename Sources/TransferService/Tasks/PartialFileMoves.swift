internal import BlobStore
internal import TransferCore
internal import TransferModel

/// Moves of the partial files of failed or cancelled downloads to the tasks that repeat them. The bytes then stay if the earlier task is
/// deleted before the new one begins.
struct PartialFileMoves {
  private let blobs: any BlobStore
  private var moved: [(from: BlobKey, to: BlobKey)] = []

  init(in blobs: any BlobStore) { self.blobs = blobs }

  /// Moves the files before the new tasks are committed. If a file is missing, the point stays, and the download restarts.
  mutating func move(to tasks: inout [NewTask]) async {
    for place in tasks.indices where tasks[place].specification.preferences.retryOf != nil {
      await moveBody(to: &tasks[place])
      guard var point = tasks[place].specification.resumePoint?.download else { continue }
      let old = point.key
      // The name has no stamp: no process writes the file under it, and any later owner may use it.
      (point.source, point.blob) = (tasks[place].id, nil)
      guard await Self.move(old, to: point.key, blobs) else { continue }
      tasks[place].specification.resumePoint = .download(point)
      moved.append((old, point.key))
    }
  }

  /// Moves the body of a task whose destination failed. If the body is missing, the new task downloads it again.
  private mutating func moveBody(to task: inout NewTask) async {
    guard let outcome = task.specification.received, outcome.body?.isFile == true,
      let old = task.specification.preferences.retryOf.map({ BlobKey($0, .body, outcome.blob) })
    else { return }
    let new = BlobKey(task.id, .body, nil)
    task.specification.received?.blob = nil
    guard await Self.move(old, to: new, blobs) else {
      task.specification.received = nil
      return
    }
    moved.append((old, new))
  }

  /// Returns the files, because the new tasks were refused.
  func undo() async {
    for (old, new) in moved { _ = await Self.move(new, to: old, blobs) }
  }

  private static func move(_ key: BlobKey, to other: BlobKey, _ blobs: any BlobStore) async -> Bool {
    do throws(BlobError) {
      return try await blobAnswerIfAny { blobs.move(key, to: other, $0) } != nil
    } catch {
      return false
    }
  }
}
