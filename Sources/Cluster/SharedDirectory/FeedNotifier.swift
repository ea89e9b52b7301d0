internal import Processes
internal import Synchronization

/// A notifier that wakes the other processes after this one has committed events.
final class FeedNotifier: Sendable {
  private let place: ProcessRegistration
  private let others = Mutex<(addresses: [String], clients: [WakeupClient])>(([], []))

  init(place: ProcessRegistration) { self.place = place }

  /// Replaces the addresses of the other processes.
  /// - Returns: the previous addresses.
  func set(_ addresses: [String]) -> [String] {
    others.withLock { others in
      let former = others.addresses
      if former != addresses { others = (addresses, addresses.map { place.feedWakeupClient(at: $0) }) }
      return former
    }
  }

  func notify() { for client in others.withLock({ $0.clients }) { client.wake() } }
}
