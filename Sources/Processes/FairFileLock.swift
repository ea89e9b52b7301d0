internal import EventLoop
internal import CLinux
internal import Glibc
internal import Synchronization

/// A lock between processes that is granted in order: a waiting process precedes the last holder.
///
/// Two bytes of a file are locked (F_OFD_SETLK, fcntl(2)): the entrance and the room. A process locks the entrance, then the room, and then
/// unlocks the entrance. The last holder thus finds the entrance locked by a process that waits. Both locks end with their process, even
/// after a crash.
package final class FairFileLock: Sendable {
  private enum Byte {
    static let entrance: off_t = 0
    static let room: off_t = 1
  }
  /// The state of the thread that waits for the lock on behalf of the caller.
  private enum WaiterState {
    case none
    /// The thread waits for a caller, or the caller has given up. In the latter case the thread releases the lock when it gets it.
    case waiting, forgotten
    /// The thread has got the lock for the caller.
    case arrived
  }
  private struct State {
    var errand = WaiterState.none
    var waiter: ThreadPool?
  }

  private let descriptor: Int32
  /// An eventfd that the thread signals when it has the lock.
  private let bell: Int32
  private let state = Mutex(State())

  /// Opens the file; `nil`, with `errno`, if that fails.
  package init?(path: String) {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard descriptor >= 0, bell >= 0 else { return nil }
  }

  deinit {
    state.withLock { $0.waiter }?.stop()
    // Keeps the `errno` of the failed initialiser.
    let code = errno
    if bell >= 0 { close(bell) }
    if descriptor >= 0 { close(descriptor) }
    errno = code
  }

  /// Waits for the lock, for at most `patience`. One thread may call this at a time. A successful call must be paired with `unlock`.
  /// - Returns: `false` if other processes held the lock for that time.
  package func lock(patience: Duration) -> Bool {
    let isFree = state.withLock { if case .none = $0.errand { true } else { false } }
    if isFree {
      if clinux_lock_bytes(descriptor, Byte.entrance, 2) == 0 {
        _ = clinux_unlock_byte(descriptor, Byte.entrance)
        return true
      }
      // The file system has no such locks. The lock only ensures order, so the caller may proceed.
      guard errno == EAGAIN || errno == EACCES else { return true }
    }
    sendWaiter()
    return arrives(within: patience)
  }

  /// Releases the lock.
  package func unlock() { _ = clinux_unlock_byte(descriptor, Byte.room) }

  // MARK: Waiting

  // fcntl(2) cannot wait for a lock with a time limit, so a separate thread waits.

  private func sendWaiter() {
    let idle = state.withLock { state -> ThreadPool? in
      defer { state.errand = .waiting }
      // A thread whose caller has given up still waits, and keeps its place in the order.
      guard case .none = state.errand else { return nil }
      let waiter = state.waiter ?? ThreadPool(name: "ferry-turn", threads: 1)
      state.waiter = waiter
      return waiter
    }
    idle?.submit { self.waitInLine() }
  }

  private func waitInLine() {
    Self.await(descriptor, Byte.entrance)
    Self.await(descriptor, Byte.room)
    _ = clinux_unlock_byte(descriptor, Byte.entrance)
    state.withLock { state in
      if case .forgotten = state.errand {
        unlock()
        state.errand = .none
      } else {
        state.errand = .arrived
        eventfd_write(bell, 1)
      }
    }
  }

  private static func await(_ descriptor: Int32, _ byte: off_t) {
    while clinux_lock_byte_waiting(descriptor, byte) != 0, errno == EINTR {}
  }

  private func arrives(within patience: Duration) -> Bool {
    let end = ContinuousClock.now + patience
    while true {
      let left = max(.zero, end - .now)
      var event = pollfd(fd: bell, events: Int16(POLLIN), revents: 0)
      let milliseconds = left / .milliseconds(1)
      let count = poll(&event, 1, Int32(min(milliseconds.rounded(.up), 1_000_000)))
      if count < 0, errno == EINTR { continue }
      return state.withLock { state in
        guard case .arrived = state.errand else {
          state.errand = .forgotten
          return false
        }
        var rings: eventfd_t = 0
        eventfd_read(bell, &rings)
        state.errand = .none
        return true
      }
    }
  }
}
