internal import CLinux
internal import Glibc

/// A lock that shows other processes that this one uses a file, and with which number, such as its version.
///
/// Each number locks a byte of the file, in shared mode (F_OFD_SETLK, fcntl(2)). The lock ends with the process, even after a crash.
package final class VersionLock: Sendable {
  /// The first byte. It lies after the bytes of a `FairFileLock`, which may use the same file.
  private static let start: off_t = 1024

  private let descriptor: Int32
  private let number: Int

  /// Opens the file; `nil` if that fails.
  package init?(path: String, number: Int) {
    self.number = number
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
  }

  /// Unlocks explicitly, because a process that is being started has a copy of the descriptor until it calls execve(2).
  deinit {
    guard descriptor >= 0 else { return }
    unlock()
    close(descriptor)
  }

  /// Takes the lock. On a file system without such locks, no process sees another.
  package func lock() { _ = clinux_share_byte(descriptor, Self.start + off_t(number)) }
  package func unlock() { _ = clinux_unlock_byte(descriptor, Self.start + off_t(number)) }

  /// Returns whether processes with lower numbers have a lock.
  package func hasHolders(below limit: Int) -> Bool {
    limit > 0 && clinux_are_bytes_locked(descriptor, Self.start, off_t(limit)) == 1
  }
}
