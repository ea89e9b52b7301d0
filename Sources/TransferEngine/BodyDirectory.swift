internal import EventLoop
internal import CLinux
internal import Glibc
package import TransferModel

/// Where large bodies lie: finished ones under their task's id, unfinished ones beside them.
package struct BodyDirectory: Sendable {
  package let path: String
  let medium: BodyMedium

  package init(path: String) {
    self.path = path
    medium = .disk
  }

  /// Of an ephemeral session.
  package init(_ files: MemoryFiles, of session: SessionID) {
    path = "memory"
    medium = .memory(files, session)
  }

  package var isOnDisk: Bool { if case .disk = medium { true } else { false } }

  package func path(_ task: TaskID) -> String { "\(path)/\(task)" }
  package func temporaryPath(_ task: TaskID) -> String { "\(path)/\(task).part" }
  /// What a download that did not finish left for resume data.
  package func partialPath(_ task: TaskID) -> String { "\(path)/\(task).resume" }

  package func prepare() throws(UsableDirectory.Fault) { try UsableDirectory.prepare(path) }

  /// Drops what a task has left unfinished.
  package func removeTemporary(_ task: TaskID) { medium.remove(temporaryPath(task)) }

  /// Whether there are files in it; false where there is no such directory.
  package var hasFiles: Bool { DirectoryListing.hasFiles(path) }

  /// All that tasks have here.
  package func contents() -> [Leftover] { names().compactMap { Leftover(name: $0) } }

  /// A body that is on its way here.
  func receive(_ task: TaskID, on pool: WorkerPool) -> BodyFile {
    BodyFile(temporaryPath: temporaryPath(task), medium: medium, pool: pool)
  }

  /// Goes on behind what was claimed.
  func receiveRest(_ task: TaskID, from offset: Int64, on pool: WorkerPool) -> BodyFile {
    BodyFile(resuming: temporaryPath(task), at: offset, medium: medium, pool: pool)
  }

  /// Whether a small body may be kept with its task: where that is memory, it counts as the others do.
  func mayKeep(_ size: Int, of task: TaskID) -> Bool {
    guard case .memory(let files, let session) = medium else { return true }
    return files.reserve(Int64(size), as: path(task), of: session)
  }

  /// A body that is there already, under another name: it gets one here, and no byte is moved. Nil where that cannot be.
  func adopt(
    _ other: String, for task: TaskID, size: Int64, sha256: String, on pool: WorkerPool
  ) -> BodyFile? {
    let temporary = temporaryPath(task)
    if Disk.link(other, temporary) != 0 {
      guard errno == EEXIST, Disk.unlink(temporary) == 0, Disk.link(other, temporary) == 0 else { return nil }
    }
    return BodyFile(adopting: temporary, size: size, sha256: sha256, pool: pool)
  }

  /// Reads a finished body; nil where there is none.
  package func reader(_ task: TaskID) -> BodyFileReader? {
    let descriptor = medium.open(path(task), O_RDONLY)
    return descriptor >= 0 ? BodyFileReader(descriptor: descriptor) : nil
  }

  /// Keeps what an earlier process had got of a download; returns how many bytes that are.
  package func salvage(_ task: TaskID) -> Int64 {
    medium.rename(temporaryPath(task), to: partialPath(task))
    // Where there was nothing to rename, what an even earlier process kept may still be there.
    return medium.size(partialPath(task)) ?? 0
  }

  package func remove(_ leftover: Leftover) { medium.remove("\(path)/\(leftover.name)") }
  package func remove(_ task: TaskID) { medium.remove(path(task)) }
  package func removePartial(_ task: TaskID) { medium.remove(partialPath(task)) }

  /// Makes `source`'s unfinished bytes those of `task`; false where they are not all there any more. Whoever comes
  /// first has them.
  func claimPartial(of source: TaskID, size: Int64, for task: TaskID) -> Bool {
    guard let there = medium.size(partialPath(source)), there >= size else { return false }
    return medium.rename(partialPath(source), to: temporaryPath(task))
  }

  /// Gives back what was claimed and not touched.
  func returnPartial(of source: TaskID, from task: TaskID) {
    medium.rename(temporaryPath(task), to: partialPath(source))
  }

  /// Gives back what an earlier process had claimed for the task and not gone on with, where all of it is still there.
  package func returnClaim(of point: DownloadPoint, from task: TaskID) {
    guard let there = medium.size(temporaryPath(task)), there >= point.partial.offset else { return }
    returnPartial(of: point.source, from: task)
  }

  /// Drops what was claimed: it was of another version.
  func dropClaim(of task: TaskID) { medium.remove(temporaryPath(task)) }

  /// The tasks that left something to go on from.
  package func partials() -> [TaskID] {
    names().filter { $0.hasSuffix(".resume") }.compactMap { TaskID(String($0.dropLast(7))) }
  }

  private func names() -> [String] { medium.names(path) }
}
