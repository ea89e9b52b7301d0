/// The interfaces and routes of the machine, at one moment.
///
/// Policy routing, which directs some packets to other tables, is ignored.
package struct NetworkSnapshot: Sendable, Equatable {
  package var interfaces: [NetworkInterface]
  package var routes: [NetworkRoute]

  package init(interfaces: [NetworkInterface] = [], routes: [NetworkRoute] = []) {
    self.interfaces = interfaces
    self.routes = routes
  }

  package func interface(_ index: Int) -> NetworkInterface? { interfaces.first { $0.index == index } }

  /// Returns the route that the kernel would choose: the first table with a match, then the longest prefix, then the lowest metric.
  /// - Parameter interface: the index of the interface that the socket is bound to; `nil` for an unbound socket.
  package func route(to address: IPAddress, through interface: Int? = nil) -> NetworkRoute? {
    let address = address.unmapped
    for table in [NetworkRoute.Table.local, .main, .fallback] {
      let best = routes.reduce(nil as NetworkRoute?) { best, route in
        guard route.table == table, route.destination.contains(address) else { return best }
        // A route without an interface applies to every interface.
        if let interface, let out = route.interface, out != interface { return best }
        return best.map { route.precedes($0) ? route : $0 } ?? route
      }
      if let best, best.kind != .continueLookup { return best }
    }
    return nil
  }

  /// Whether packets to the address would leave by a usable interface, or stay on this machine.
  package func hasRoute(to address: IPAddress) -> Bool { isUsable(route(to: address)) }

  /// Whether there is a route to other machines. Routes that a link creates for itself do not count.
  package var hasExternalRoute: Bool {
    routes.contains { route in
      route.kind == .unicast && !route.isLinkScoped && isUsable(route)
        && route.interface.flatMap(interface)?.isLoopback == false
    }
  }

  /// Whether a usable route of an earlier snapshot is gone. Connections may depend on it.
  package func hasLost(of earlier: NetworkSnapshot) -> Bool {
    let left = Set(routes.lazy.filter(isUsable))
    return earlier.routes.contains { earlier.isUsable($0) && !$0.isLinkScoped && !left.contains($0) }
  }

  func isUsable(_ route: NetworkRoute?) -> Bool {
    guard let route, route.kind == .unicast || route.kind == .local, let index = route.interface else {
      return false
    }
    return interface(index)?.isUsable ?? false
  }
}
