internal import Glibc
package import TransferModel

/// Where large bodies lie: finished ones under their task's id, unfinished ones beside them.
package struct BodyDirectory: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  package func path(_ task: TaskID) -> String { "\(path)/\(task)" }
  package func temporaryPath(_ task: TaskID) -> String { "\(path)/\(task).part" }

  /// Creates the directory and drops what an earlier process left unfinished.
  package func prepare() throws {
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw BodyFile.Failure(message: "mkdir \(path)", errno: errno)
    }
    for name in names() where name.hasSuffix(".part") { unlink("\(path)/\(name)") }
  }

  package func remove(_ task: TaskID) { unlink(path(task)) }

  /// The tasks that have a file here.
  package func tasks() -> [TaskID] { names().compactMap { TaskID($0) } }

  private func names() -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      names.append(name)
    }
    return names
  }
}
