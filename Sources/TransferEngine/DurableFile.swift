internal import Glibc

/// Small files that must be whole or as they were before.
package enum DurableFile {
  /// Writes a file that only its owner may read, in place of what was there; false where that cannot be.
  package static func write(_ bytes: [UInt8], to path: String) -> Bool {
    let temporary = path + ".new"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return false }
    let isWritten = Glibc.write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
    close(descriptor)
    guard isWritten, rename(temporary, path) == 0 else {
      unlink(temporary)
      return false
    }
    DirectorySync.sync(parentOf: path)
    return true
  }
}

/// Keeps a directory for one process.
package final class DirectoryLock: Sendable {
  private let descriptor: Int32

  /// Nil where another process has it. The lock goes with the process, however that ends.
  package init?(_ directory: String) {
    descriptor = open(directory + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return nil
    }
  }

  deinit { close(descriptor) }
}

/// Makes a rename durable: the directory has to reach the disk as well.
enum DirectorySync {
  static func sync(parentOf path: String) {
    guard let slash = path.lastIndex(of: "/") else { return }
    let descriptor = open(String(path[..<slash]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
