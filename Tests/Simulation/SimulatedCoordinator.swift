internal import Cluster

/// The leases of all services of a world. For one thread.
package final class SimulatedRegistrations: @unchecked Sendable {
  private struct Place {
    var beat: ContinuousClock.Instant
    let ring: () -> Void
  }
  /// The time after the last heartbeat at which a process counts as frozen.
  package static let lease = Duration.seconds(10)

  private let clock: SimulatedClock
  private var places: [String: Place] = [:]

  package init(clock: SimulatedClock) { self.clock = clock }

  /// Registers a process.
  /// - Parameter ring: called when another process wakes it.
  package func enter(_ address: String, ring: @escaping () -> Void) {
    places[address] = Place(beat: clock.uptime, ring: ring)
  }

  /// Renews the lease.
  package func renew(_ address: String) { places[address]?.beat = clock.uptime }

  /// Removes a process that has ended.
  package func leave(_ address: String) { places[address] = nil }

  func isAlive(_ address: String) -> Bool {
    places[address].map { clock.uptime - $0.beat <= Self.lease } ?? false
  }

  func ring(_ address: String) { places[address]?.ring() }
}

/// A service's view of the others. For one thread.
package struct SimulatedCoordinator: ClusterCoordinator {
  package let address: String
  private let places: SimulatedRegistrations

  package init(_ address: String, among places: SimulatedRegistrations) {
    (self.address, self.places) = (address, places)
  }

  package var lease: Duration? { SimulatedRegistrations.lease / 2 }
  package func isAlive(at address: String) -> Bool { places.isAlive(address) }
  package func wake(at address: String) { places.ring(address) }
}
