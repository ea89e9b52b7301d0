internal import EventLoop
internal import CLinux
internal import Glibc
internal import Synchronization

/// Lets one of several processes in at a time, and who waits before who was in last.
///
/// Two bytes of a file are locked (F_OFD_SETLK, fcntl(2)): the entrance and the room. Who wants in takes the entrance, then the
/// room, and gives the entrance back; so whoever leaves the room and wants in again finds the entrance taken by the one who waits.
/// The locks go with their process, however that ends.
package final class Turnstile: Sendable {
  private enum Byte {
    static let entrance: off_t = 0
    static let room: off_t = 1
  }
  /// What the thread that waits in our place is about.
  private enum Errand {
    case none
    /// It waits for us, or for nobody any more: then it gives back what it gets.
    case waiting, forgotten
    /// It is in the room: that is, we are.
    case arrived
  }
  private struct State {
    var errand = Errand.none
    var waiter: WorkerPool?
  }

  private let descriptor: Int32
  /// Rung by the waiter when it has arrived.
  private let bell: Int32
  private let state = Mutex(State())

  /// Nil, with errno, where the file cannot be had.
  package init?(path: String) {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard descriptor >= 0, bell >= 0 else { return nil }
  }

  deinit {
    state.withLock { $0.waiter }?.stop()
    // In this order: what of errno the initialiser leaves is of the file.
    let code = errno
    if bell >= 0 { close(bell) }
    if descriptor >= 0 { close(descriptor) }
    errno = code
  }

  /// Waits for its turn, for as long as `patience`; one thread at a time. Who got in has to leave.
  /// - Returns: false where others kept the room for so long.
  package func enter(patience: Duration) -> Bool {
    let isFree = state.withLock { if case .none = $0.errand { true } else { false } }
    if isFree {
      if clinux_lock_bytes(descriptor, Byte.entrance, 2) == 0 {
        _ = clinux_unlock_byte(descriptor, Byte.entrance)
        return true
      }
      // A file system without such locks: what this keeps in order holds without it.
      guard errno == EAGAIN || errno == EACCES else { return true }
    }
    sendWaiter()
    return arrives(within: patience)
  }

  /// Lets the next one in.
  package func leave() { _ = clinux_unlock_byte(descriptor, Byte.room) }

  // MARK: Waiting

  // A lock cannot be waited for with a limit, so a thread of its own waits.

  private func sendWaiter() {
    let idle = state.withLock { state -> WorkerPool? in
      defer { state.errand = .waiting }
      // One that was forgotten still stands there, and has its place.
      guard case .none = state.errand else { return nil }
      let waiter = state.waiter ?? WorkerPool(name: "ferry-turn", threads: 1)
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
        leave()
        state.errand = .none
      } else {
        state.errand = .arrived
        eventfd_write(bell, 1)
      }
    }
  }

  private static func await(_ descriptor: Int32, _ byte: off_t) {
    while clinux_await_byte(descriptor, byte) != 0, errno == EINTR {}
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
