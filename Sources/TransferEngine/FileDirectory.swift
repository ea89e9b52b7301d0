internal import Glibc
package import TransferModel

/// Where stored files lie, under their ids.
package struct FileDirectory: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  package func path(_ file: FileID) -> String { "\(path)/\(file)" }
  package func temporaryPath(_ file: FileID) -> String { "\(path)/\(file).part" }

  /// Creates the directory and drops what an earlier process left unfinished.
  package func prepare() throws {
    try DirectoryListing.make(path)
    DirectoryListing.removeTemporaries(path)
  }

  package func remove(_ file: FileID) { unlink(path(file)) }

  /// The files that are here.
  package func files() -> [FileID] { DirectoryListing.names(path).compactMap { FileID($0) } }

  /// Gives a finished body a second name here; both must lie on the same file system.
  package func link(_ file: FileID, to path: String) throws(BodyFile.Failure) {
    guard Glibc.link(path, self.path(file)) == 0 else {
      throw BodyFile.Failure(message: "link: \(String(cString: strerror(errno)))", errno: errno)
    }
    DirectorySync.sync(parentOf: self.path(file))
  }
}

/// What is in a directory.
enum DirectoryListing {
  static func make(_ path: String) throws(BodyFile.Failure) {
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw BodyFile.Failure(message: "mkdir \(path)", errno: errno)
    }
  }

  /// Drops what was being written.
  static func removeTemporaries(_ path: String, where isOrphan: (String) -> Bool = { _ in true }) {
    for name in names(path) where name.hasSuffix(".part") && isOrphan(String(name.dropLast(5))) {
      unlink("\(path)/\(name)")
    }
  }

  static func names(_ path: String) -> [String] {
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
