/// The interfaces and routes of the machine, at one moment.
///
/// Rules that send some packets to other tables (policy routing, as some tunnels use it) are not looked at.
package struct NetworkSnapshot: Sendable, Equatable {
  package var interfaces: [NetworkInterface]
  package var routes: [NetworkRoute]

  package init(interfaces: [NetworkInterface] = [], routes: [NetworkRoute] = []) {
    self.interfaces = interfaces
    self.routes = routes
  }

  package func interface(_ index: Int) -> NetworkInterface? { interfaces.first { $0.index == index } }

  /// The route that the kernel would take: of the first table that has one, the longest prefix, then the least metric.
  /// - Parameter interface: the socket is bound to it; nil: to none.
  package func route(to address: IPAddress, through interface: Int? = nil) -> NetworkRoute? {
    let address = address.unmapped
    for table in [NetworkRoute.Table.local, .main, .fallback] {
      let best = routes.reduce(nil as NetworkRoute?) { best, route in
        guard route.table == table, route.destination.contains(address) else { return best }
        // What leads nowhere holds for every interface.
        if let interface, let out = route.interface, out != interface { return best }
        return best.map { route.precedes($0) ? route : $0 } ?? route
      }
      if let best, best.kind != .pass { return best }
    }
    return nil
  }

  /// Whether packets to the address would leave by an interface that can carry them, or stay on this machine.
  package func hasRoute(to address: IPAddress) -> Bool { isUsable(route(to: address)) }

  /// There is a way to other machines. What an interface gives itself when its link comes up is none.
  package var leadsOut: Bool {
    routes.contains { route in
      route.kind == .unicast && !route.isLinkScoped && isUsable(route)
        && route.interface.flatMap(interface)?.isLoopback == false
    }
  }

  /// An address or a way of earlier is gone: connections may hang on it.
  package func lacksSome(of earlier: NetworkSnapshot) -> Bool {
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
