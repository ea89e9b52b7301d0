internal import CLinux
internal import EventLoop
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// The registration of a process in a shared data directory: a lock that shows that it is alive, a socket for requests, and two wakeup
/// sockets.
///
/// Each file lies in the directory `processes`, under the process's random name, which is its address.
package final class ProcessRegistration: Sendable {
  private enum Suffix: String, CaseIterable {
    case lock, socket, bell, feed
  }
  /// The time without a renewal after which a process counts as frozen.
  package static let lease = Duration.seconds(10)
  /// How long a process may rely on the ownership that it read last. This is half the time after which others take over, because the
  /// ownership may be older than its last renewal.
  package var lease: Duration? { Self.lease / 2 }
  /// The longest normal pause between two renewals. After a longer pause, this process was frozen, and perhaps the others too. The
  /// others therefore count as alive until the next renewal.
  private static let longestPause = Duration.seconds(3)
  /// The directory of all registrations.
  package static let folder = "processes"

  package let address: String
  private let directory: String
  private let lock: ProcessLock
  private let renewal = Mutex((isLate: false, isFirst: true))
  private let sockets: SocketDirectory
  /// The socket for requests that other processes forward.
  package let listener: UnixListener
  /// Woken after a change of ownership, and by the worker's reports.
  package let bell: WakeupSocket
  /// Woken after other processes have committed events.
  package let feed: WakeupSocket

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// - Parameter version: the program's version.
  package init(in dataDirectory: String, version: String) throws(Failure) {
    directory = Self.directory(dataDirectory)
    do throws(UsableDirectory.Fault) { try UsableDirectory.prepare(directory) } catch {
      throw Failure(description: error.description)
    }
    Self.removeDead(under: directory)
    address = String(UInt64.random(in: 0 ... .max), radix: 36)
    let base = "\(directory)/\(address)."
    func fault(_ suffix: Suffix) -> Failure {
      Failure(description: "\(base)\(suffix.rawValue): \(String(cString: strerror(errno)))")
    }
    guard let lock = ProcessLock(path: base + Suffix.lock.rawValue, version: version) else {
      throw fault(.lock)
    }
    guard let sockets = SocketDirectory(path: directory) else { throw fault(.socket) }
    guard let listener = UnixListener(path: base + Suffix.socket.rawValue) else { throw fault(.socket) }
    (self.lock, self.sockets, self.listener) = (lock, sockets, listener)
    do throws(WakeupSocket.Failure) {
      bell = try WakeupSocket(path: base + Suffix.bell.rawValue)
      feed = try WakeupSocket(path: base + Suffix.feed.rawValue)
    } catch {
      throw Failure(description: "\(base)bell: \(error)")
    }
    lock.renewLease()
  }

  /// Removes the registration, and the files of dead processes.
  package func close() {
    bell.close()
    feed.close()
    listener.remove()
    _ = Disk.unlink("\(directory)/\(address).\(Suffix.lock.rawValue)")
    removeDead()
  }

  /// Renews the lease. Called each second.
  package func renewLease() {
    let age = ProcessLock.age(path: path(address, .lock)).map { Duration.nanoseconds($0) }
    lock.renewLease()
    renewal.withLock { $0 = (!$0.isFirst && (age ?? .zero) > Self.longestPause, false) }
  }

  // MARK: Other processes

  private static func directory(_ dataDirectory: String) -> String { "\(dataDirectory)/\(folder)" }
  private func path(_ address: String, _ suffix: Suffix) -> String {
    "\(directory)/\(address).\(suffix.rawValue)"
  }

  /// Returns whether a process is alive and has renewed its lease.
  package func isAlive(at address: String) -> Bool {
    guard Self.isName(address) else { return false }
    let path = path(address, .lock)
    guard ProcessLock.owner(path: path) != nil, let age = ProcessLock.age(path: path) else { return false }
    return Duration.nanoseconds(age) < Self.lease || renewal.withLock(\.isLate)
  }

  /// Kills the frozen processes, which releases their locks. It does not matter whether they have joined, are about to, or have left.
  /// - Returns: whether there are other processes.
  package func killUnresponsivePeers() -> Bool {
    let others = Self.addresses(under: directory).filter { $0 != address }.compactMap { other in
      ProcessLock.owner(path: path(other, .lock)).map { (other, $0) }
    }
    for (other, owner) in others where !isAlive(at: other) { _ = owner.process?.send(.kill) }
    return !others.isEmpty
  }

  /// Removes the files of dead processes.
  package func removeDead() { Self.removeDead(under: directory) }

  /// Returns the path of a process's socket.
  package func socket(at address: String) -> String {
    sockets.path(of: "\(address).\(Suffix.socket.rawValue)")
  }
  package func wake(at address: String) { _ = WakeupSocket.wake(path(address, .bell)) }
  /// Returns the client of a process's `feed` socket, for many wakeups.
  package func feedWakeupClient(at address: String) -> WakeupClient {
    WakeupClient(path: path(address, .feed))
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
  }

  /// Returns the processes that are alive, in no order.
  package static func owners(in dataDirectory: String) -> [ProcessLock.Owner] {
    addresses(in: dataDirectory).compactMap {
      ProcessLock.owner(path: "\(directory(dataDirectory))/\($0).\(Suffix.lock.rawValue)")
    }
  }

  /// Returns clients of the `bell` sockets of all processes.
  package static func wakeupClients(in dataDirectory: String) -> [WakeupClient] {
    addresses(in: dataDirectory).map {
      WakeupClient(path: "\(directory(dataDirectory))/\($0).\(Suffix.bell.rawValue)")
    }
  }

  /// Returns a value that changes when a process comes or goes; `nil` if there never was one.
  package static func changeTime(in dataDirectory: String) -> Int64? {
    ProcessLock.lastHeartbeat(path: directory(dataDirectory))
  }

  private static func addresses(in dataDirectory: String) -> [String] {
    addresses(under: directory(dataDirectory))
  }

  private static func addresses(under directory: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
    let end = "." + Suffix.lock.rawValue
    return (names ?? []).filter { $0.hasSuffix(end) }.map { String($0.dropLast(end.count)) }
  }

  /// Removes the files of dead processes.
  private static func removeDead(under directory: String) {
    for address in addresses(under: directory) {
      let base = "\(directory)/\(address)."
      // A process that takes this lock now is dead or has not started, so its files are unused.
      guard let lock = ProcessLock(path: base + Suffix.lock.rawValue, version: nil) else { continue }
      // The lock's file is deleted last, so that an interrupted removal can be repeated.
      for suffix in Suffix.allCases.reversed() { _ = Disk.unlink(base + suffix.rawValue) }
      withExtendedLifetime(lock) {}
    }
  }
}
