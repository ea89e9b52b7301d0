internal import CLinux
internal import Glibc

/// One process, and never another that got its number later (pidfd_open(2)).
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
  /// -1 where the system has no such descriptors: then the number has to do.
  private let descriptor: Int32
  private let isSame: @Sendable () -> Bool

  /// Nil where there is no such process.
  /// - Parameter isSame: whether the process that has the number now is the one that is meant. Asked once it is held, so that it
  ///   cannot become another after the question.
  package init?(pid: Int32, isSame: @escaping @Sendable () -> Bool) {
    self.pid = pid
    self.isSame = isSame
    descriptor = clinux_open_process(pid)
    guard descriptor >= 0 || errno != ESRCH, isSame() else { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// - Returns: 0, or a code of errno: ESRCH where it has ended.
  package func send(_ signal: Signal) -> Int32 {
    if descriptor >= 0 { return clinux_signal_process(descriptor, signal.number) == 0 ? 0 : errno }
    guard isSame() else { return ESRCH }
    return kill(pid, signal.number) == 0 ? 0 : errno
  }

  /// Whether it has ended, be it that nobody has waited for it yet.
  package var hasEnded: Bool {
    guard descriptor >= 0 else { return !isSame() }
    var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&event, 1, 0) > 0
  }

  /// What a code of errno means.
  package static func text(ofError code: Int32) -> String { String(cString: strerror(code)) }

  /// What was asked for, there being nothing under way that would have to come to an end.
  package static func endThis() -> Never { _exit(0) }

  /// The first process of a container, or of the machine: others become its children when their parents end, and all end with it.
  package static var isFirst: Bool { getpid() == 1 }
}
