internal import CLinux
internal import Glibc

/// A lock that keeps a directory for one process and names it to others. A shared lock keeps it for several processes.
package final class DirectoryLock: Sendable {
  package enum Failure: Error, Sendable, Equatable {
    /// Another process has the lock.
    case inUse
    /// The lock's file cannot be opened or locked; the value is `errno`.
    case failed(Int32)
  }
  /// The name of the lock's file in the directory.
  package static let name = "lock"
  private let descriptor: Int32

  /// Takes the lock. It ends with the process, even after a crash.
  /// - Parameters:
  ///   - version: the program's version, which other processes see (`owner`); `nil` to publish nothing.
  ///   - isShared: whether the lock is shared.
  package init(_ directory: String, version: String? = nil, isShared: Bool = false) throws(Failure) {
    descriptor = open(Self.file(directory), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .failed(errno) }
    guard flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
      let code = errno
      throw code == EWOULDBLOCK ? .inUse : .failed(code)
    }
    // Publishing the owner may fail; the lock is taken all the same.
    if let version { ProcessLock.writeOwner(version: version, in: descriptor) }
  }

  /// Unlocks explicitly, as `ProcessLock` does, because a process that is being started may have a copy of the descriptor.
  deinit {
    guard descriptor >= 0 else { return }
    flock(descriptor, LOCK_UN)
    ProcessLock.clearOwner(in: descriptor)
    close(descriptor)
  }

  /// Returns the process that has the directory; `nil` if there is none or it publishes nothing. This takes no lock.
  package static func owner(of directory: String) -> ProcessLock.Owner? {
    ProcessLock.owner(path: file(directory))
  }

  private static func file(_ directory: String) -> String { "\(directory)/\(name)" }
}
