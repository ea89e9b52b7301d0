internal import Glibc

/// The database's files are for their owner alone, whatever the umask is and wherever they lie.
enum PrivateFiles {
  struct Failure: Error, CustomStringConvertible {
    let path: String
    let code: Int32
    var description: String { "\(path): \(String(cString: strerror(code)))" }
  }

  /// Makes the database's file where there is none: SQLite gives its companions the same mode. Those that are there are mended.
  static func secure(database path: String) throws(Failure) {
    let created = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if created >= 0 {
      // The umask may have taken more away.
      let isDone = fchmod(created, 0o600) == 0
      let code = errno
      close(created)
      guard isDone else { throw Failure(path: path, code: code) }
    }
    for file in ["", "-wal", "-shm", "-journal"].map({ path + $0 }) {
      // What its owner may do with it is the owner's affair.
      var found = stat()
      guard stat(file, &found) == 0, found.st_mode & 0o077 != 0 else { continue }
      guard chmod(file, found.st_mode & 0o700) != 0, errno != ENOENT else { continue }
      // Another user's, or on a disk that is read only: whoever opens it says so.
      guard [EPERM, EROFS, ENOTDIR, EACCES].contains(errno) else { throw Failure(path: file, code: errno) }
    }
  }
}
