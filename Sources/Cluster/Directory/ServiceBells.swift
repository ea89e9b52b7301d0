internal import Processes
internal import Synchronization

/// Rings for all services of a data directory.
package final class ServiceBells: Sendable {
  private let dataDirectory: String
  private let known = Mutex<(time: Int64?, pulls: [DoorbellPull])>((nil, []))

  package init(dataDirectory: String) { self.dataDirectory = dataDirectory }

  /// - Returns: whether a service hears it.
  @discardableResult package func ring() -> Bool {
    let time = ProcessPlace.changeTime(in: dataDirectory)
    let pulls = known.withLock { known in
      if known.time != time { known = (time, ProcessPlace.pulls(in: dataDirectory)) }
      return known.pulls
    }
    return pulls.reduce(false) { $1.ring() || $0 }
  }
}
