/// A way to a network, as the kernel's tables have it. One with several next hops is several routes.
package struct NetworkRoute: Sendable, Hashable {
  /// The tables that are asked for every destination, in this order.
  package enum Table: Int, Sendable, Comparable {
    case local, main, fallback
    package static func < (left: Table, right: Table) -> Bool { left.rawValue < right.rawValue }
  }
  package enum Kind: Sendable, Equatable {
    /// To another machine.
    case unicast
    /// To this machine.
    case local
    /// Refused: what it covers cannot be reached (unreachable, prohibit, blackhole).
    case refusal
    /// The next table is to be asked.
    case pass
  }

  package var destination: IPNetwork
  package var table: Table
  package var kind: Kind
  /// Where it leads out; nil where it leads nowhere.
  package var interface: Int?
  /// The smaller wins.
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

  /// Whether it is taken before the other, both being of one table.
  func precedes(_ other: NetworkRoute) -> Bool {
    if destination.prefixLength != other.destination.prefixLength {
      return destination.prefixLength > other.destination.prefixLength
    }
    return metric < other.metric
  }
}
