package import EventLoop
internal import Ledger
package import Logging
package import Processes
internal import Synchronization

extension ProcessPlace: Coordination {}

/// This service among those that share a data directory: it renews its lease, looks after the others, and rings for them.
package final class SharedDirectory: Sendable {
  private static let interval = Duration.seconds(1)

  private final class Watched: Sendable {
    let cluster = Mutex<Cluster?>(nil)
  }
  private let place: ProcessPlace
  private let ringer: FeedRinger
  private let watched: Watched
  /// Yields each second, and whenever another process rings.
  private let rings: AsyncStream<Void>
  private let bell: AsyncStream<Void>.Continuation
  private let ticker: Ticker

  /// Renews the lease each second from here on, on a thread of its own: all else may wait for the ledger or a disk.
  package init(_ place: ProcessPlace) {
    self.place = place
    ringer = FeedRinger(place: place)
    let watched = Watched()
    self.watched = watched
    let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.rings, self.bell) = (rings, bell)
    ticker = Ticker(name: "ferry-beat", every: Self.interval) { _ in
      place.renew()
      watched.cluster.withLock(\.self)?.beat()
      bell.yield()
    }
  }

  /// From here on it looks after the others on behalf of a cluster.
  package func begin(_ cluster: Cluster) { watched.cluster.withLock { $0 = cluster } }

  /// Lets the lease go. Called once the database is closed: a service that freezes before that is found by its lease.
  package func close() {
    ticker.stop()
    watched.cluster.withLock { $0 = nil }
    place.close()
  }

  /// This service has committed events: the others look.
  package func ring() { ringer.ring() }

  /// Hears the bells of this process on a loop that does not run yet.
  package func listen(on loop: EventLoop, for cluster: Cluster) {
    place.bell.listen(on: loop) { [bell] in
      bell.yield()
      cluster.lookForNews()
    }
    place.feed.listen(on: loop) { cluster.follow() }
  }

  /// Looks after the others until the task is cancelled.
  package func attend(_ cluster: Cluster, _ logger: Logger) async {
    for await _ in rings {
      if Task.isCancelled { break }
      await look(cluster, logger)
    }
  }

  /// Leaves, and rings for the others.
  package func depart(_ cluster: Cluster) async {
    try? await cluster.depart()
    for address in cluster.others { place.ring(at: address) }
  }

  private func look(_ cluster: Cluster, _ logger: Logger) async {
    do throws(StoreError) {
      let interrupted = try await cluster.attend()
      if interrupted > 0 {
        logger.notice(
          "ended tasks of a dead service", metadata: ["tasks": "\(interrupted)"])
      }
    } catch {
      logger.error("cannot check the other services", metadata: ["error": "\(error)"])
    }
    // The start or a request may have learned of them before `attend`.
    let others = cluster.others
    let known = ringer.set(others)
    for address in known where !others.contains(address) {
      logger.notice("a service has left", metadata: ["address": "\(address)"])
      cluster.abandon(address)
      place.removeDead()
    }
    for address in others where !known.contains(address) {
      logger.notice("a service has joined", metadata: ["address": "\(address)"])
    }
  }
}
