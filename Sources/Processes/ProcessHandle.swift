internal import CLinux
internal import Glibc

/// A reference to one process that never refers to a later process with the same id (pidfd_open(2)).
package final class ProcessHandle: Sendable {
  package enum Signal: Sendable {
    case hangUp, terminate, kill
    fileprivate var number: Int32 {
      switch self {
      case .hangUp: SIGHUP
      case .terminate: SIGTERM
      case .kill: SIGKILL
      }
    }
  }

  package let pid: Int32
  /// The process's descriptor; -1 if the system has none, so that the process id has to suffice.
  private let descriptor: Int32
  private let isSame: @Sendable () -> Bool

  /// Opens the process; `nil` if it does not exist.
  /// - Parameter isSame: returns whether the process that has the id now is the expected one. Called after the descriptor is open, so that
  ///   the answer stays valid.
  package init?(pid: Int32, isSame: @escaping @Sendable () -> Bool) {
    self.pid = pid
    self.isSame = isSame
    descriptor = clinux_open_process(pid)
    guard descriptor >= 0 || errno != ESRCH, isSame() else { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Sends a signal.
  /// - Returns: 0 or `errno`; `ESRCH` if the process has ended.
  package func send(_ signal: Signal) -> Int32 {
    if descriptor >= 0 { return clinux_signal_process(descriptor, signal.number) == 0 ? 0 : errno }
    guard isSame() else { return ESRCH }
    return kill(pid, signal.number) == 0 ? 0 : errno
  }

  /// Whether the process has ended, even if its parent has not waited for it yet.
  package var hasEnded: Bool {
    guard descriptor >= 0 else { return !isSame() }
    var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&event, 1, 0) > 0
  }

  /// Returns the message of an `errno` value.
  package static func text(ofError code: Int32) -> String { String(cString: strerror(code)) }

  /// Exits at once with status 0, for a requested end when no work is running.
  package static func exitNow() -> Never { _exit(0) }

  /// Whether this is the first process of a container or machine. It adopts orphans, and all other processes end with it.
  package static var isInit: Bool { getpid() == 1 }
}
