internal import Processes
internal import Synchronization

/// The wakeup sockets of all services of a data directory.
package final class ServiceWakeups: Sendable {
  private let dataDirectory: String
  private let known = Mutex<(time: Int64?, clients: [WakeupClient])>((nil, []))

  package init(dataDirectory: String) { self.dataDirectory = dataDirectory }

  /// - Returns: whether a service listens.
  @discardableResult package func wake() -> Bool {
    let time = ProcessRegistration.changeTime(in: dataDirectory)
    let clients = known.withLock { known in
      if known.time != time { known = (time, ProcessRegistration.wakeupClients(in: dataDirectory)) }
      return known.clients
    }
    return clients.reduce(false) { $1.wake() || $0 }
  }
}
