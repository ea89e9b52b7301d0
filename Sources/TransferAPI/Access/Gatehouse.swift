internal import Synchronization

/// Where the gatekeeper stands: another can take the place while requests come in. Each request is checked by whoever is there then;
/// what was let in before goes on.
package final class Gatehouse: Sendable {
  private let place: Mutex<Gatekeeper>

  package init(_ gatekeeper: Gatekeeper) { place = Mutex(gatekeeper) }

  package var gatekeeper: Gatekeeper { place.withLock { $0 } }

  package func relieve(by gatekeeper: Gatekeeper) { place.withLock { $0 = gatekeeper } }
}
