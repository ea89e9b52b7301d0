internal import Processes
internal import Synchronization

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
