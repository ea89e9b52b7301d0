internal import Glibc
package import TransferModel

/// Where large bodies lie: finished ones under their task's id, unfinished ones beside them.
package struct BodyDirectory: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  package func path(_ task: TaskID) -> String { "\(path)/\(task)" }
  package func temporaryPath(_ task: TaskID) -> String { "\(path)/\(task).part" }
  /// What a download that did not finish left for resume data.
  package func partialPath(_ task: TaskID) -> String { "\(path)/\(task).resume" }

  package func prepare() throws { try DirectoryListing.make(path) }

  /// Drops what an earlier process left unfinished.
  package func removeTemporaries() { DirectoryListing.removeTemporaries(path) }

  /// Keeps what an earlier process had got of a download; returns how many bytes that are.
  package func salvage(_ task: TaskID) -> Int64 {
    rename(temporaryPath(task), partialPath(task))
    var information = stat()
    // Where there was nothing to rename, what an even earlier process kept may still be there.
    return stat(partialPath(task), &information) == 0 ? Int64(information.st_size) : 0
  }

  package func remove(_ task: TaskID) { unlink(path(task)) }
  package func removePartial(_ task: TaskID) { unlink(partialPath(task)) }

  /// Makes `source`'s unfinished bytes those of `task`; false where they are not all there any more. Whoever comes
  /// first has them.
  func claimPartial(of source: TaskID, size: Int64, for task: TaskID) -> Bool {
    var information = stat()
    guard stat(partialPath(source), &information) == 0, Int64(information.st_size) >= size else {
      return false
    }
    return rename(partialPath(source), temporaryPath(task)) == 0
  }

  /// Gives back what was claimed and not touched.
  func returnPartial(of source: TaskID, from task: TaskID) {
    rename(temporaryPath(task), partialPath(source))
  }

  /// Drops what was claimed: it was of another version.
  func dropClaim(of task: TaskID) { unlink(temporaryPath(task)) }

  /// The tasks that left something to go on from.
  package func partials() -> [TaskID] {
    names().filter { $0.hasSuffix(".resume") }.compactMap { TaskID(String($0.dropLast(7))) }
  }

  /// The tasks that have a file here.
  package func tasks() -> [TaskID] { names().compactMap { TaskID($0) } }

  private func names() -> [String] { DirectoryListing.names(path) }
}
