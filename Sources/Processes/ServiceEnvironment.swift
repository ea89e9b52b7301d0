internal import CLinux
internal import Glibc

/// What a manager of services hands to a process in its environment: whom to notify, how often to say that it lives, and the
/// sockets that it has opened (sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3)).
package struct ServiceEnvironment: Sendable, Equatable {
  package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }
  /// The first of the descriptors that are handed over (SD_LISTEN_FDS_START).
  package static let firstDescriptor: Int32 = 3
  /// So many descriptors are handed over at most.
  private static let mostDescriptors = 1024
  private static let names = [
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
  ]

  /// A path, or a name behind `@`; nil: nobody is to be notified.
  package private(set) var notifySocket: String?
  /// How long the process may be silent; nil: for ever.
  package private(set) var watchdog: Duration?
  /// The names of the sockets that were handed over, `unknown` where they have none.
  package private(set) var sockets: [String] = []

  /// - Parameters:
  ///   - values: variables, by their names.
  ///   - pid: this process's: what is for another does not count.
  package init(_ values: [String: String], pid: Int32) throws(Fault) {
    if let socket = values["NOTIFY_SOCKET"], !socket.isEmpty {
      guard socket.hasPrefix("/") || socket.hasPrefix("@") else {
        throw Fault(description: "NOTIFY_SOCKET: '\(socket)' is neither a path nor a name behind @")
      }
      notifySocket = socket
    }
    if Self.isMine(values["WATCHDOG_PID"], pid), let text = values["WATCHDOG_USEC"] {
      guard let microseconds = Int64(text), microseconds > 0 else {
        throw Fault(description: "WATCHDOG_USEC: '\(text)' is not a number of microseconds")
      }
      watchdog = .microseconds(microseconds)
    }
    guard values["LISTEN_PID"] != nil, Self.isMine(values["LISTEN_PID"], pid), let text = values["LISTEN_FDS"]
    else { return }
    guard let count = Int(text), (0...Self.mostDescriptors).contains(count) else {
      throw Fault(description: "LISTEN_FDS: '\(text)' is not a number of descriptors")
    }
    let given = values["LISTEN_FDNAMES"].map {
      $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    }
    sockets = given.flatMap { $0.count == count ? $0 : nil } ?? Array(repeating: "unknown", count: count)
  }

  /// Takes it out of this process's environment, so that no program that it starts finds it, and keeps the descriptors from those, too.
  package static func take() throws(Fault) -> ServiceEnvironment {
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

  /// The one socket that was handed over; nil: none was.
  package var socket: Int32? {
    get throws(Fault) {
      guard sockets.count <= 1 else {
        throw Fault(
          description: "LISTEN_FDS: one socket can be served, and \(sockets.count) were handed over "
            + "(\(sockets.joined(separator: ", ")))")
      }
      return descriptors.first
    }
  }

  private static func isMine(_ text: String?, _ pid: Int32) -> Bool { text.map { Int32($0) == pid } ?? true }
}
