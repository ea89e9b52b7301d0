internal import CLinux
internal import Glibc

/// Keeps a directory for one process, and tells the others which one that is; or for several that share it, and against all others.
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
  /// - Parameters:
  ///   - version: of the program, which is then told to others (`owner`); nil: nothing is told.
  ///   - isShared: with others that share it.
  package init(_ directory: String, version: String? = nil, isShared: Bool = false) throws(Failure) {
    descriptor = open(Self.file(directory), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .failed(errno) }
    guard flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
      let code = errno
      throw code == EWOULDBLOCK ? .inUse : .failed(code)
    }
    // Where it cannot be told, the directory is this process's all the same.
    if let version { ProcessLock.tell(version: version, in: descriptor) }
  }

  /// As a `ProcessLock` does, it gives back what a process that is being started has a copy of.
  deinit {
    guard descriptor >= 0 else { return }
    flock(descriptor, LOCK_UN)
    ProcessLock.untell(in: descriptor)
    close(descriptor)
  }

  /// Which process keeps the directory; nil where none does, or it tells nothing. Takes nothing, and keeps nobody out.
  package static func owner(of directory: String) -> ProcessLock.Owner? {
    ProcessLock.owner(path: file(directory))
  }

  private static func file(_ directory: String) -> String { "\(directory)/\(name)" }
}
