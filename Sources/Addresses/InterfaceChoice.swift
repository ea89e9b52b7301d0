/// The interface by which a task may reach its destination.
package enum InterfaceChoice: Sendable, Equatable {
  /// The kernel may choose the interface.
  case any
  /// The socket must be bound to the interface of this name.
  case bind(String)
  /// The only routes use interfaces that the task must not use (NSURLErrorNetworkUnavailableReason).
  case forbidden(InterfaceClass)
  /// No interface has a route.
  case unreachable

  /// Chooses the interface for a connection.
  /// - Parameters:
  ///   - allowed: the classes that the task may use.
  ///   - snapshot: the current interfaces and routes.
  package static func choose(
    to destination: NetworkDestination, in snapshot: NetworkSnapshot, under policy: InterfacePolicy,
    allowing allowed: InterfaceClasses
  ) -> InterfaceChoice {
    guard !policy.named.isSubset(of: allowed), !isLocalTraffic(destination, snapshot) else { return .any }
    let ways = ways(to: destination, in: snapshot)
    var best: Candidate?
    var forbidding: InterfaceClasses = []
    for way in ways {
      let forbidden = policy.classes(of: way.interface.name).subtracting(allowed)
      forbidding.formUnion(forbidden)
      guard forbidden.isEmpty else { continue }
      if best.map({ way.precedes($0) }) ?? true { best = way }
    }
    if let best { return .bind(best.interface.name) }
    return forbidding.first.map { .forbidden($0) } ?? .unreachable
  }

  /// An interface with the route that a socket bound to it would use.
  private struct Candidate {
    let interface: NetworkInterface
    let route: NetworkRoute

    func precedes(_ other: Candidate) -> Bool {
      if route.table != other.route.table { return route.table < other.route.table }
      if route.precedes(other.route) || other.route.precedes(route) { return route.precedes(other.route) }
      return interface.index < other.interface.index
    }
  }

  /// Whether the traffic stays on this machine. It then uses no network, and a bound socket could not connect.
  private static func isLocalTraffic(_ destination: NetworkDestination, _ snapshot: NetworkSnapshot) -> Bool {
    switch destination {
    case .localhost: true
    case .name: false
    case .address(let address): address.isLoopback || snapshot.route(to: address)?.kind == .local
    }
  }

  private static func ways(to destination: NetworkDestination, in snapshot: NetworkSnapshot) -> [Candidate] {
    let interfaces = snapshot.interfaces.filter { $0.isUsable && !$0.isLoopback }
    switch destination {
    case .localhost: return []
    case .address(let address):
      return interfaces.compactMap { interface in
        let route = snapshot.route(to: address, through: interface.index)
        guard let route, route.kind == .unicast, route.interface == interface.index else { return nil }
        return Candidate(interface: interface, route: route)
      }
    case .name:
      // Without any default route, the name may belong to an attached network.
      let defaults = interfaces.compactMap { way(by: $0, in: snapshot) { $0.isDefault } }
      return defaults.isEmpty
        ? interfaces.compactMap { way(by: $0, in: snapshot) { !$0.isLinkScoped } } : defaults
    }
  }

  /// Returns the interface with its best matching route: the first table, then the lowest metric.
  private static func way(
    by interface: NetworkInterface, in snapshot: NetworkSnapshot, where isWanted: (NetworkRoute) -> Bool
  ) -> Candidate? {
    snapshot.routes
      .filter { $0.interface == interface.index && $0.kind == .unicast && isWanted($0) }
      .min { ($0.table, $0.metric) < ($1.table, $1.metric) }
      .map { Candidate(interface: interface, route: $0) }
  }
}

extension IPAddress {
  /// Whether the address belongs to 127.0.0.0/8 or is ::1 (RFC 6890).
  package var isLoopback: Bool {
    switch unmapped {
    case .v4(let value): value >> 24 == 127
    case .v6(let high, let low): high == 0 && low == 1
    }
  }
}

extension NetworkRoute {
  /// Whether the destination is link-local or multicast. Names do not resolve to such addresses.
  var isLinkScoped: Bool {
    switch destination.base {
    case .v4(let value): value >> 16 == 0xA9FE || value >> 28 == 0xE
    case .v6(let high, _): high >> 54 == 0x3FA || high >> 56 == 0xFF
    }
  }
}
