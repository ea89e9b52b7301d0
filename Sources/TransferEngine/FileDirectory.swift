internal import EventLoop
internal import CLinux
internal import Glibc
package import TransferModel

/// Where stored files lie, under their ids.
package struct FileDirectory: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  package func path(_ file: FileID) -> String { "\(path)/\(file)" }
  package func temporaryPath(_ file: FileID) -> String { "\(path)/\(file).part" }

  /// Creates the directory and drops what an earlier process had begun to receive: nobody was told of it.
  package func prepare() throws(UsableDirectory.Fault) {
    try UsableDirectory.prepare(path)
    DirectoryListing.removeTemporaries(path) { FileID($0) != nil }
  }

  package func remove(_ file: FileID) { _ = Disk.unlink(path(file)) }

  /// Whether there are files in it; false where there is no such directory.
  package var hasFiles: Bool { DirectoryListing.hasFiles(path) }

  /// The files that are here.
  package func files() -> [FileID] { Disk.names(in: path).compactMap { FileID($0) } }

  /// Gives a finished body a second name here; both must lie on the same file system.
  package func link(_ file: FileID, to path: String) throws(BodyFile.Failure) {
    guard Disk.link(path, self.path(file)) == 0 else {
      throw BodyFile.Failure(message: "link: \(String(cString: strerror(errno)))", errno: errno)
    }
    DirectorySync.sync(parentOf: self.path(file))
  }
}

/// What is in a directory.
enum DirectoryListing {
  /// Drops what was being written.
  static func removeTemporaries(_ path: String, where isOrphan: (String) -> Bool) {
    for name in Disk.names(in: path) where name.hasSuffix(".part") && isOrphan(String(name.dropLast(5))) {
      _ = Disk.unlink("\(path)/\(name)")
    }
  }

  /// Whether anything is there but directories that are no business of ours.
  static func hasFiles(_ path: String) -> Bool {
    var found = false
    Disk.forEachName(in: path) { name in
      found = !["lost+found", SetAside.name].contains(name)
      return !found
    }
    return found
  }
}
