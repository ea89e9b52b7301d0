/// A network interface of the machine, at one moment.
package struct NetworkInterface: Sendable, Equatable {
  package var name: String
  package var index: Int
  /// Whether the interface is switched on (IFF_UP).
  package var isUp: Bool
  /// Whether the interface can carry packets: it is operational (RFC 2863 §3.1.14, IFF_RUNNING) and has a carrier.
  package var isRunning: Bool
  package var isLoopback: Bool
  /// The addresses, in the kernel's order.
  package var addresses: [IPAddress]

  package init(
    name: String, index: Int, isUp: Bool = true, isRunning: Bool = true, isLoopback: Bool = false,
    addresses: [IPAddress] = []
  ) {
    self.name = name
    self.index = index
    self.isUp = isUp
    self.isRunning = isRunning
    self.isLoopback = isLoopback
    self.addresses = addresses
  }

  package var isUsable: Bool { isUp && isRunning }
}
