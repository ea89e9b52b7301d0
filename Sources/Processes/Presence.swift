internal import CLinux
internal import Glibc

/// Tells other processes that this one uses what a file stands for, and by which number: of a version, say.
///
/// A byte of the file is locked for each number (F_OFD_SETLK, fcntl(2)), and shared by all who have that number. The lock goes with its
/// process, however that ends.
package final class Presence: Sendable {
  /// Behind the bytes of a `Turnstile`, which may have the same file.
  private static let start: off_t = 1024

  private let descriptor: Int32
  private let number: Int

  /// Nil where the file cannot be had.
  package init?(path: String, number: Int) {
    self.number = number
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
  }

  /// A process that is being started has a copy of the descriptor until it becomes another program.
  deinit {
    guard descriptor >= 0 else { return }
    end()
    close(descriptor)
  }

  /// Others see it from here on. A file system without such locks shows nobody to anybody.
  package func begin() { _ = clinux_share_byte(descriptor, Self.start + off_t(number)) }
  package func end() { _ = clinux_unlock_byte(descriptor, Self.start + off_t(number)) }

  /// Whether others are there with smaller numbers than that.
  package func hasOthers(below limit: Int) -> Bool {
    limit > 0 && clinux_are_bytes_locked(descriptor, Self.start, off_t(limit)) == 1
  }
}
