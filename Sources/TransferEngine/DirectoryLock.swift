internal import CLinux
internal import Glibc

/// Keeps a directory for one process, and tells the others which one that is.
package final class DirectoryLock: Sendable {
  package enum Failure: Error, Sendable, Equatable {
    /// Another process has it.
    case inUse
    /// The lock's file cannot be had: a code of errno.
    case failed(Int32)
  }
  /// Of the file in the directory.
  package static let name = "lock"
  private let descriptor: Int32

  /// The lock goes with the process, however that ends.
  /// - Parameter version: of the program, which is then told to others (`owner`); nil: nothing is told.
  package init(_ directory: String, version: String? = nil) throws(Failure) {
    descriptor = open(Self.file(directory), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .failed(errno) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      throw code == EWOULDBLOCK ? .inUse : .failed(code)
    }
    // Where it cannot be told, the directory is this process's all the same.
    if let version { ProcessLock.tell(version: version, in: descriptor) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Which process keeps the directory; nil where none does, or it tells nothing. Takes nothing, and keeps nobody out.
  package static func owner(of directory: String) -> ProcessLock.Owner? {
    ProcessLock.owner(path: file(directory))
  }

  private static func file(_ directory: String) -> String { "\(directory)/\(name)" }
}
