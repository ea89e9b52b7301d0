internal import Glibc

/// Keeps a directory for one process.
package final class DirectoryLock: Sendable {
  package enum Failure: Error, Sendable, Equatable {
    /// Another process has it.
    case inUse
    /// The lock's file cannot be had: a code of errno.
    case failed(Int32)
  }
  private let descriptor: Int32

  /// The lock goes with the process, however that ends.
  package init(_ directory: String) throws(Failure) {
    descriptor = open(directory + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .failed(errno) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      throw code == EWOULDBLOCK ? .inUse : .failed(code)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
