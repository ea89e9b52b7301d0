/// A route in the kernel's tables. A route with several next hops is represented by several values.
package struct NetworkRoute: Sendable, Hashable {
  /// The tables that the kernel searches for every destination, in this order.
  package enum Table: Int, Sendable, Comparable {
    case local, main, fallback
    package static func < (left: Table, right: Table) -> Bool { left.rawValue < right.rawValue }
  }
  package enum Kind: Sendable, Equatable {
    /// A route to another machine.
    case unicast
    /// A route to this machine.
    case local
    /// Destinations that the kernel refuses (unreachable, prohibit, blackhole).
    case refusal
    /// The search continues in the next table.
    case continueLookup
  }

  package var destination: IPNetwork
  package var table: Table
  package var kind: Kind
  /// The index of the outgoing interface; `nil` if the route has none.
  package var interface: Int?
  /// The metric; the lowest one wins.
  package var metric: Int

  package init(
    to destination: IPNetwork, table: Table = .main, kind: Kind = .unicast, interface: Int?, metric: Int = 0
  ) {
    self.destination = destination
    self.table = table
    self.kind = kind
    self.interface = interface
    self.metric = metric
  }

  package var isDefault: Bool { destination.prefixLength == 0 && kind == .unicast }

  /// Whether the kernel prefers this route to another one of the same table.
  func precedes(_ other: NetworkRoute) -> Bool {
    if destination.prefixLength != other.destination.prefixLength {
      return destination.prefixLength > other.destination.prefixLength
    }
    return metric < other.metric
  }
}
