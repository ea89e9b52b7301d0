internal import CLinux
internal import Glibc

/// The instructions of a service manager in the environment: the notification socket, the watchdog interval, and opened sockets
/// (sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3)).
package struct ServiceEnvironment: Sendable, Equatable {
  package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }
  /// The first passed descriptor (SD_LISTEN_FDS_START).
  package static let firstDescriptor: Int32 = 3
  /// The most descriptors that are accepted.
  private static let mostDescriptors = 1024
  private static let names = [
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
  ]

  /// A path, or an abstract name after `@`; `nil` if there is no service manager.
  package private(set) var notifySocket: String?
  /// The longest time between two watchdog notifications; `nil` for no limit.
  package private(set) var watchdog: Duration?
  /// The names of the passed sockets; `unknown` for sockets without a name.
  package private(set) var sockets: [String] = []

  /// - Parameters:
  ///   - values: environment variables by name.
  ///   - pid: this process's id. Values for another process are ignored.
  package init(_ values: [String: String], pid: Int32) throws(Fault) {
    if let socket = values["NOTIFY_SOCKET"], !socket.isEmpty {
      guard socket.hasPrefix("/") || socket.hasPrefix("@") else {
        throw Fault(
          description:
            "NOTIFY_SOCKET: '\(socket)' is neither an absolute path nor @ and a name; unset it, or correct it"
        )
      }
      notifySocket = socket
    }
    if Self.isMine(values["WATCHDOG_PID"], pid), let text = values["WATCHDOG_USEC"] {
      guard let microseconds = Int64(text), microseconds > 0 else {
        throw Fault(
          description:
            "WATCHDOG_USEC: '\(text)' is not a number of microseconds above 0; unset it, or correct it")
      }
      watchdog = .microseconds(microseconds)
    }
    guard values["LISTEN_PID"] != nil, Self.isMine(values["LISTEN_PID"], pid), let text = values["LISTEN_FDS"]
    else { return }
    guard let count = Int(text), (0...Self.mostDescriptors).contains(count) else {
      throw Fault(
        description:
          "LISTEN_FDS: '\(text)' is not a number of descriptors from 0 to \(Self.mostDescriptors); unset it, or correct it"
      )
    }
    let given = values["LISTEN_FDNAMES"].map {
      $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    }
    sockets = given.flatMap { $0.count == count ? $0 : nil } ?? Array(repeating: "unknown", count: count)
  }

  /// Reads the values and removes them from the environment, so that programs that this process starts inherit neither them nor the
  /// descriptors.
  package static func consume() throws(Fault) -> ServiceEnvironment {
    var values: [String: String] = [:]
    for name in names {
      values[name] = getenv(name).map { String(cString: $0) }
      unsetenv(name)
    }
    let environment = try ServiceEnvironment(values, pid: getpid())
    for descriptor in environment.descriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return environment
  }

  private var descriptors: Range<Int32> {
    Self.firstDescriptor..<Self.firstDescriptor + Int32(sockets.count)
  }

  /// The one passed socket; `nil` if there is none.
  package var socket: Int32? {
    get throws(Fault) {
      guard sockets.count <= 1 else {
        throw Fault(
          description:
            "LISTEN_FDS: \(sockets.count) sockets were passed, but Ferry serves only one; leave one in the socket unit "
            + "(\(sockets.joined(separator: ", ")))")
      }
      return descriptors.first
    }
  }

  private static func isMine(_ text: String?, _ pid: Int32) -> Bool { text.map { Int32($0) == pid } ?? true }
}
