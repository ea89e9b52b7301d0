package import EventLoop
internal import Ledger
package import Logging
package import Processes
internal import Synchronization

extension ProcessRegistration: ClusterCoordinator {}

/// The heartbeat of a service in a shared data directory: renews its lease, watches the other services and wakes them.
package final class ClusterHeartbeat: Sendable {
  private static let interval = Duration.seconds(1)

  private final class Watched: Sendable {
    let cluster = Mutex<Cluster?>(nil)
  }
  private let place: ProcessRegistration
  private let feedNotifier: FeedNotifier
  private let watched: Watched
  /// The stream that yields each second and after each wakeup by another process.
  private let wakeups: AsyncStream<Void>
  private let wakeup: AsyncStream<Void>.Continuation
  private let ticker: Ticker

  /// Starts to renew the lease each second, on a separate thread, because all other threads may wait for the ledger or a disk.
  package init(_ place: ProcessRegistration) {
    self.place = place
    feedNotifier = FeedNotifier(place: place)
    let watched = Watched()
    self.watched = watched
    let (wakeups, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.wakeups, self.wakeup) = (wakeups, wakeup)
    ticker = Ticker(name: "ferry-beat", every: Self.interval) { _ in
      place.renewLease()
      watched.cluster.withLock(\.self)?.tick()
      wakeup.yield()
    }
  }

  /// Starts to call the cluster's `tick` each second.
  package func begin(_ cluster: Cluster) { watched.cluster.withLock { $0 = cluster } }

  /// Ends the lease. Called after the database is closed, so that the lease reveals a service that freezes before that.
  package func close() {
    ticker.stop()
    watched.cluster.withLock { $0 = nil }
    place.close()
  }

  /// Wakes the other processes after a commit of this one.
  package func notify() { feedNotifier.notify() }

  /// Listens for wakeups on a loop that does not run yet.
  package func listen(on loop: EventLoop, for cluster: Cluster) {
    place.bell.listen(on: loop) { [wakeup] in
      wakeup.yield()
      cluster.pollWorkerReports()
    }
    place.feed.listen(on: loop) { cluster.publishRemoteCommits() }
  }

  /// Watches the other services until the task is cancelled.
  package func attend(_ cluster: Cluster, _ logger: Logger) async {
    for await _ in wakeups {
      if Task.isCancelled { break }
      await look(cluster, logger)
    }
  }

  /// Leaves the cluster and wakes the other services.
  package func depart(_ cluster: Cluster) async {
    try? await cluster.leave()
    for address in cluster.others { place.wake(at: address) }
  }

  private func look(_ cluster: Cluster, _ logger: Logger) async {
    do throws(LedgerError) {
      let interrupted = try await cluster.reconcile()
      if interrupted > 0 {
        logger.notice(
          "ended tasks of a dead service", metadata: ["tasks": "\(interrupted)"])
      }
    } catch {
      logger.error("cannot check the other services; trying again", metadata: ["error": "\(error)"])
    }
    // The start or a request may have read the ownership before `attend`.
    let others = cluster.others
    let known = feedNotifier.set(others)
    for address in known where !others.contains(address) {
      logger.notice("a service has left", metadata: ["address": "\(address)"])
      cluster.cancelForwarding(address)
      place.removeDead()
    }
    for address in others where !known.contains(address) {
      logger.notice("a service has joined", metadata: ["address": "\(address)"])
    }
  }
}
