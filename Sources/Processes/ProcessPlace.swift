internal import CLinux
internal import EventLoop
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// A process's place among those that share a data directory: a lock that says that it lives, a socket for requests, and two bells.
///
/// Each lies in the directory `processes` there, under the process's own name, which is its address.
package final class ProcessPlace: Sendable {
  private enum Suffix: String, CaseIterable {
    case lock, socket, bell, feed
  }
  /// After which silence a process is taken to stand still.
  package static let lease = Duration.seconds(10)
  /// For how long a process may rely on what it has seen of the others: half of what they wait for, as that may be somewhat older than
  /// its last beat.
  package var lease: Duration? { Self.lease / 2 }
  /// Who has not come round for so long has stood still, and perhaps the others with it: whether they live is seen next time.
  private static let longestPause = Duration.seconds(3)
  /// Of the directory that all of them lie in.
  package static let folder = "processes"

  package let address: String
  private let directory: String
  private let lock: ProcessLock
  private let renewal = Mutex((isLate: false, isFirst: true))
  private let sockets: SocketDirectory
  /// Requests that other processes hand on.
  package let listener: LocalListener
  /// Rung when who owns what has changed, and when there are news.
  package let bell: Doorbell
  /// Rung when others have committed events.
  package let feed: Doorbell

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// - Parameter version: of the program.
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
    guard let listener = LocalListener(path: base + Suffix.socket.rawValue) else { throw fault(.socket) }
    (self.lock, self.sockets, self.listener) = (lock, sockets, listener)
    do throws(Doorbell.Failure) {
      bell = try Doorbell(path: base + Suffix.bell.rawValue)
      feed = try Doorbell(path: base + Suffix.feed.rawValue)
    } catch {
      throw Failure(description: "\(base)bell: \(error)")
    }
    lock.renew()
  }

  /// It lives no more. Nothing stays of those that have died.
  package func close() {
    bell.close()
    feed.close()
    listener.remove()
    _ = Disk.unlink("\(directory)/\(address).\(Suffix.lock.rawValue)")
    removeDead()
  }

  /// Says that this process lives. Called each second.
  package func renew() {
    let age = ProcessLock.age(path: path(address, .lock)).map { Duration.nanoseconds($0) }
    lock.renew()
    renewal.withLock { $0 = (!$0.isFirst && (age ?? .zero) > Self.longestPause, false) }
  }

  // MARK: Others

  private static func directory(_ dataDirectory: String) -> String { "\(dataDirectory)/\(folder)" }
  private func path(_ address: String, _ suffix: Suffix) -> String {
    "\(directory)/\(address).\(suffix.rawValue)"
  }

  /// Whether a process lives, and has said so within its lease.
  package func isAlive(at address: String) -> Bool {
    guard Self.isName(address) else { return false }
    let path = path(address, .lock)
    guard ProcessLock.owner(path: path) != nil, let age = ProcessLock.age(path: path) else { return false }
    return Duration.nanoseconds(age) < Self.lease || renewal.withLock(\.isLate)
  }

  /// Ends whoever stands still among the others, and with that the locks that they have: whether they take part, do not yet, or do not any
  /// more.
  /// - Returns: whether there are others.
  package func endTheFrozen() -> Bool {
    let others = Self.addresses(under: directory).filter { $0 != address }.compactMap { other in
      ProcessLock.owner(path: path(other, .lock)).map { (other, $0) }
    }
    for (other, owner) in others where !isAlive(at: other) { _ = owner.process?.send(.kill) }
    return !others.isEmpty
  }

  /// Removes what processes have left that live no more.
  package func removeDead() { Self.removeDead(under: directory) }

  /// The path of a process's socket.
  package func socket(at address: String) -> String {
    sockets.path(of: "\(address).\(Suffix.socket.rawValue)")
  }
  package func ring(at address: String) { _ = Doorbell.ring(path(address, .bell)) }
  /// What rings the feed's bell of a process, again and again.
  package func feedPull(at address: String) -> DoorbellPull { DoorbellPull(path: path(address, .feed)) }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
  }

  /// The processes that live, in no order.
  package static func owners(in dataDirectory: String) -> [ProcessLock.Owner] {
    addresses(in: dataDirectory).compactMap {
      ProcessLock.owner(path: "\(directory(dataDirectory))/\($0).\(Suffix.lock.rawValue)")
    }
  }

  /// What rings the bells of those that are there now.
  package static func pulls(in dataDirectory: String) -> [DoorbellPull] {
    addresses(in: dataDirectory).map {
      DoorbellPull(path: "\(directory(dataDirectory))/\($0).\(Suffix.bell.rawValue)")
    }
  }

  /// Differs once a process has come or gone; nil where there was none yet.
  package static func changeTime(in dataDirectory: String) -> Int64? {
    ProcessLock.lastBeat(path: directory(dataDirectory))
  }

  private static func addresses(in dataDirectory: String) -> [String] {
    addresses(under: directory(dataDirectory))
  }

  private static func addresses(under directory: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
    let end = "." + Suffix.lock.rawValue
    return (names ?? []).filter { $0.hasSuffix(end) }.map { String($0.dropLast(end.count)) }
  }

  /// What processes have left that live no more.
  private static func removeDead(under directory: String) {
    for address in addresses(under: directory) {
      let base = "\(directory)/\(address)."
      // Whoever takes it now is not there yet.
      guard let lock = ProcessLock(path: base + Suffix.lock.rawValue, version: nil) else { continue }
      // The lock goes last: whoever goes on with this finds the rest by it.
      for suffix in Suffix.allCases.reversed() { _ = Disk.unlink(base + suffix.rawValue) }
      withExtendedLifetime(lock) {}
    }
  }
}
