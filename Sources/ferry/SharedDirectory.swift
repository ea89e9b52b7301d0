import Processes
import EventLoop
import Logging
import Peers
import ServiceLifecycle
import Synchronization
import TransferService

extension ProcessPlace: Coordination {}

/// Rings for the other processes whenever this one has committed events.
final class FeedRinger: Sendable {
  private let place: ProcessPlace
  private let others = Mutex<(addresses: [String], pulls: [DoorbellPull])>(([], []))

  init(place: ProcessPlace) { self.place = place }

  /// From here on it rings at these.
  /// - Returns: where it rang before.
  func set(_ addresses: [String]) -> [String] {
    others.withLock { others in
      let former = others.addresses
      if former != addresses { others = (addresses, addresses.map { place.feedPull(at: $0) }) }
      return former
    }
  }
  func ring() { for pull in others.withLock({ $0.pulls }) { pull.ring() } }
}

/// Says each second that this process lives, from the first moment to the last, and sees to it that nothing waits for others that stand
/// still: it ends those that keep the ledger, and what was handed on to them.
///
/// It has a thread of its own, and waits for nobody: all else here may wait for the ledger or a disk.
final class Beat: Sendable {
  private static let interval = Duration.seconds(1)

  /// Yields each second, and whenever somebody rings.
  let rings: AsyncStream<Void>
  let bell: AsyncStream<Void>.Continuation
  private final class Watched: Sendable {
    let state = Mutex((service: TransferService?.none, peers: PeerClient?.none))
  }
  private let watched: Watched
  private let ticker: Ticker

  init(place: ProcessPlace) {
    let watched = Watched()
    self.watched = watched
    let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.rings, self.bell) = (rings, bell)
    ticker = Ticker(name: "ferry-beat", every: Self.interval) { _ in
      place.renew()
      let (service, peers) = watched.state.withLock { $0 }
      service?.membership.beat()
      for address in peers?.addresses ?? [] where !place.isAlive(at: address) { peers?.abandon(address) }
      bell.yield()
    }
  }

  /// From here on it looks after those who share the ledger.
  func begin(for service: TransferService) { watched.state.withLock { $0.service = service } }
  func begin(for peers: PeerClient) { watched.state.withLock { $0.peers = peers } }
  func stop() {
    ticker.stop()
    watched.state.withLock { $0 = (nil, nil) }
  }

  /// Whether this process may do what another one would do by now if it had taken over.
  var isCurrent: Bool { watched.state.withLock { $0.service }?.owners.isCurrent ?? true }
}

/// This process among those that share the data directory: looks after the others with each beat and whenever one rings.
struct MembershipService: ServiceLifecycle.Service {
  let service: TransferService
  let place: ProcessPlace
  let beat: Beat
  let peers: PeerClient
  let ringer: FeedRinger
  let logger: Logger

  /// The process's bells.
  func listen(on loop: EventLoop) {
    place.bell.listen(on: loop) { [bell = beat.bell, service] in
      bell.yield()
      service.lookForNews()
    }
    place.feed.listen(on: loop) { [service] in service.follow() }
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      for await _ in beat.rings {
        if Task.isCancelled { break }
        await look()
      }
    }
    try? await service.membership.depart()
    for address in service.owners.others { place.ring(at: address) }
  }

  private func look() async {
    do throws(ServiceError) {
      let interrupted = try await service.membership.attend()
      if interrupted > 0 {
        logger.notice(
          "ended tasks of a process that is gone", metadata: ["tasks": "\(interrupted)"])
      }
    } catch {
      logger.error("cannot look after the other processes", metadata: ["error": "\(error)"])
    }
    // They may have been learned before: at the start, or by a request that looked.
    let others = service.owners.others
    let known = ringer.set(others)
    for address in known where !others.contains(address) {
      logger.notice("a process takes no part any more", metadata: ["address": "\(address)"])
      peers.abandon(address)
      place.removeDead()
    }
    for address in others where !known.contains(address) {
      logger.notice("another process takes part", metadata: ["address": "\(address)"])
    }
  }
}

/// Rings for all services of a data directory.
final class ServiceBells: Bell {
  private let dataDirectory: String
  private let known = Mutex<(time: Int64?, pulls: [DoorbellPull])>((nil, []))

  init(dataDirectory: String) { self.dataDirectory = dataDirectory }

  @discardableResult func ring() -> Bool {
    let time = ProcessPlace.changeTime(in: dataDirectory)
    let pulls = known.withLock { known in
      if known.time != time { known = (time, ProcessPlace.pulls(in: dataDirectory)) }
      return known.pulls
    }
    return pulls.reduce(false) { $1.ring() || $0 }
  }
}
