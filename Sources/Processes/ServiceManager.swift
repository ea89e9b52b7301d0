internal import CLinux
internal import Glibc

/// A notification from a service to its manager (sd_notify(3)).
package struct ServiceNotification: Sendable, Equatable {
  /// The datagram, with one assignment per line.
  package let text: String

  private init(_ lines: [String], _ status: String?) {
    text = (lines + (status.map { ["STATUS=" + Self.line($0)] } ?? [])).joined(separator: "\n")
  }

  /// Returns the notification that the service is ready, for the first time or after `reloading`.
  package static func ready(_ status: String) -> Self { Self(["READY=1"], status) }

  /// Returns the notification that the service reloads its settings. `ready` follows.
  /// - Parameter time: the time in microseconds of CLOCK_MONOTONIC.
  package static func reloading(at time: Int64, _ status: String) -> Self {
    Self(["RELOADING=1", "MONOTONIC_USEC=\(time)"], status)
  }

  /// Returns the notification that the service is stopping.
  package static func stopping(_ status: String) -> Self { Self(["STOPPING=1"], status) }

  /// A sign of life for the watchdog.
  package static var watchdog: Self { Self(["WATCHDOG=1"], nil) }

  /// Returns a notification with one line for operators about the service's state.
  package static func status(_ text: String) -> Self { Self([], text) }

  /// Removes line breaks, because another line would be another assignment.
  private static func line(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }
}

/// The service manager, as a notification socket. Without one, nothing is sent.
package struct ServiceManager: Sendable {
  private let socket: String?

  /// - Parameter socket: a path, or an abstract name after `@` (`NOTIFY_SOCKET`); `nil` if there is no service manager.
  package init(socket: String?) { self.socket = socket }

  /// Sends a notification. It never waits, so a manager that does not read misses it.
  /// - Returns: 0 or `errno`; 0 if there is no service manager.
  @discardableResult
  package func notify(_ notification: ServiceNotification) -> Int32 {
    guard let socket else { return 0 }
    let bytes = Array(notification.text.utf8)
    return clinux_send_datagram(socket, bytes, bytes.count)
  }

  /// Notifies the manager that the service reloads its settings now.
  package func tellReloading(_ status: String) {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    notify(.reloading(at: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000, status))
  }
}
