/// By which interface a task may reach its destination.
package enum InterfaceChoice: Sendable, Equatable {
  /// The kernel's own choice will do.
  case any
  /// By the interface of this name only.
  case bind(String)
  /// There would be a way, but not for this task (NSURLErrorNetworkUnavailableReason).
  case forbidden(InterfaceClass)
  /// There is no way.
  case unreachable

  /// - Parameters:
  ///   - allowed: the classes that the task may use.
  ///   - snapshot: the network as it is.
  package static func choose(
    to destination: NetworkDestination, in snapshot: NetworkSnapshot, under policy: InterfacePolicy,
    allowing allowed: InterfaceClasses
  ) -> InterfaceChoice {
    guard !policy.named.isSubset(of: allowed), !staysHere(destination, snapshot) else { return .any }
    let ways = ways(to: destination, in: snapshot)
    var best: Way?
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

  /// An interface with the route that a socket bound to it would take.
  private struct Way {
    let interface: NetworkInterface
    let route: NetworkRoute

    func precedes(_ other: Way) -> Bool {
      if route.table != other.route.table { return route.table < other.route.table }
      if route.precedes(other.route) || other.route.precedes(route) { return route.precedes(other.route) }
      return interface.index < other.interface.index
    }
  }

  /// What stays on this machine uses no network, and a bound socket would not reach it.
  private static func staysHere(_ destination: NetworkDestination, _ snapshot: NetworkSnapshot) -> Bool {
    switch destination {
    case .localhost: true
    case .name: false
    case .address(let address): address.isLoopback || snapshot.route(to: address)?.kind == .local
    }
  }

  private static func ways(to destination: NetworkDestination, in snapshot: NetworkSnapshot) -> [Way] {
    let interfaces = snapshot.interfaces.filter { $0.isUsable && !$0.isLoopback }
    switch destination {
    case .localhost: return []
    case .address(let address):
      return interfaces.compactMap { interface in
        let route = snapshot.route(to: address, through: interface.index)
        guard let route, route.kind == .unicast, route.interface == interface.index else { return nil }
        return Way(interface: interface, route: route)
      }
    case .name:
      // Where nobody has a default route the name may still be one of a network that is attached.
      let defaults = interfaces.compactMap { way(by: $0, in: snapshot) { $0.isDefault } }
      return defaults.isEmpty
        ? interfaces.compactMap { way(by: $0, in: snapshot) { !$0.isLinkScoped } } : defaults
    }
  }

  /// With the route of the least metric, of those that will do.
  private static func way(
    by interface: NetworkInterface, in snapshot: NetworkSnapshot, where isWanted: (NetworkRoute) -> Bool
  ) -> Way? {
    snapshot.routes
      .filter { $0.interface == interface.index && $0.kind == .unicast && isWanted($0) }
      .min { ($0.table, $0.metric) < ($1.table, $1.metric) }
      .map { Way(interface: interface, route: $0) }
  }
}

extension IPAddress {
  /// Of 127.0.0.0/8 or ::1 (RFC 6890).
  package var isLoopback: Bool {
    switch unmapped {
    case .v4(let value): value >> 24 == 127
    case .v6(let high, let low): high == 0 && low == 1
    }
  }
}

extension NetworkRoute {
  /// Link-local or multicast: names do not stand for such addresses.
  var isLinkScoped: Bool {
    switch destination.base {
    case .v4(let value): value >> 16 == 0xA9FE || value >> 28 == 0xE
    case .v6(let high, _): high >> 54 == 0x3FA || high >> 56 == 0xFF
    }
  }
}
