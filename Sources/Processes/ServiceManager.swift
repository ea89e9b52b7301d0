internal import CLinux
internal import Glibc

/// What a service tells the one who manages it (sd_notify(3)).
package struct ServiceNotification: Sendable, Equatable {
  /// The datagram: an assignment a line.
  package let text: String

  private init(_ lines: [String], _ status: String?) {
    text = (lines + (status.map { ["STATUS=" + Self.line($0)] } ?? [])).joined(separator: "\n")
  }

  /// It serves, for the first time or again after `reloading`.
  package static func ready(_ status: String) -> Self { Self(["READY=1"], status) }

  /// It reads its settings again; `ready` follows.
  /// - Parameter time: microseconds of CLOCK_MONOTONIC.
  package static func reloading(at time: Int64, _ status: String) -> Self {
    Self(["RELOADING=1", "MONOTONIC_USEC=\(time)"], status)
  }

  /// It comes to its end.
  package static func stopping(_ status: String) -> Self { Self(["STOPPING=1"], status) }

  /// It lives.
  package static var watchdog: Self { Self(["WATCHDOG=1"], nil) }

  /// What it does, in a line for people.
  package static func status(_ text: String) -> Self { Self([], text) }

  /// Another line would be another assignment.
  private static func line(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }
}

/// Who manages the service, at the end of a socket; where nobody does, nothing is sent.
package struct ServiceManager: Sendable {
  private let socket: String?

  /// - Parameter socket: a path, or a name behind `@` (`NOTIFY_SOCKET`); nil: nobody.
  package init(socket: String?) { self.socket = socket }

  /// Never waits: a manager that does not read misses it.
  /// - Returns: 0, or a code of errno; 0 where there is nobody.
  @discardableResult
  package func tell(_ notification: ServiceNotification) -> Int32 {
    guard let socket else { return 0 }
    let bytes = Array(notification.text.utf8)
    return clinux_send_datagram(socket, bytes, bytes.count)
  }

  /// Tells that it reads its settings again, as of now.
  package func tellReloading(_ status: String) {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    tell(.reloading(at: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000, status))
  }
}
