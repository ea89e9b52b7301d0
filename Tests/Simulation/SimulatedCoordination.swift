internal import Cluster

/// Which services of a world live, as all of them see it. For one thread.
package final class ServicePlaces: @unchecked Sendable {
  private struct Place {
    var beat: ContinuousClock.Instant
    let ring: () -> Void
  }
  /// After which silence a process is taken to stand still.
  package static let lease = Duration.seconds(10)

  private let clock: WorldClock
  private var places: [String: Place] = [:]

  package init(clock: WorldClock) { self.clock = clock }

  /// A process begins, and says so.
  /// - Parameter ring: is called when another rings for it.
  package func enter(_ address: String, ring: @escaping () -> Void) {
    places[address] = Place(beat: clock.uptime, ring: ring)
  }

  /// It says that it lives.
  package func renew(_ address: String) { places[address]?.beat = clock.uptime }

  /// It has ended, however that was.
  package func leave(_ address: String) { places[address] = nil }

  func isAlive(_ address: String) -> Bool {
    places[address].map { clock.uptime - $0.beat <= Self.lease } ?? false
  }

  func ring(_ address: String) { places[address]?.ring() }
}

/// A service's view of the others. For one thread.
package struct SimulatedCoordination: Coordination {
  package let address: String
  private let places: ServicePlaces

  package init(_ address: String, among places: ServicePlaces) {
    (self.address, self.places) = (address, places)
  }

  package var lease: Duration? { ServicePlaces.lease / 2 }
  package func isAlive(at address: String) -> Bool { places.isAlive(address) }
  package func ring(at address: String) { places.ring(address) }
}
