internal import Glibc

/// The modes of the database's files, which are private to their owner whatever the umask and the directory's mode are.
enum PrivateFiles {
  struct Failure: Error, CustomStringConvertible {
    let path: String
    let code: Int32
    var description: String { "\(path): \(String(cString: strerror(code)))" }
  }

  /// Creates the database's file if it is missing, and removes other users' access from existing files. SQLite gives its companion files
  /// the same mode.
  static func secure(database path: String) throws(Failure) {
    let created = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if created >= 0 {
      // The umask may have removed more bits.
      let isDone = fchmod(created, 0o600) == 0
      let code = errno
      close(created)
      guard isDone else { throw Failure(path: path, code: code) }
    }
    for file in ["", "-wal", "-shm", "-journal"].map({ path + $0 }) {
      // The owner's own bits stay as they are.
      var found = stat()
      guard stat(file, &found) == 0, found.st_mode & 0o077 != 0 else { continue }
      guard chmod(file, found.st_mode & 0o700) != 0, errno != ENOENT else { continue }
      // The file belongs to another user or is on a read-only disk. Opening it reports the error.
      guard [EPERM, EROFS, ENOTDIR, EACCES].contains(errno) else { throw Failure(path: file, code: errno) }
    }
  }
}
