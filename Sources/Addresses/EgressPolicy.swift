/// The rules for which addresses Ferry may connect to. The check runs when a socket is opened, on the address itself. No name, redirect
/// or second DNS answer can bypass it.
///
/// The ranges are IANA's special-purpose registries (RFC 6890 and its successors), plus the addresses of cloud instance metadata.
package struct EgressPolicy: Sendable {
  package enum Classification: Sendable, Equatable {
    case allowed
    /// The address is refused by the named rule.
    case denied(rule: String)
  }

  /// The networks that the operator opened (`--allow-network`).
  package let allowedNetworks: [IPNetwork]

  package init(allowedNetworks: [IPNetwork] = []) { self.allowedNetworks = allowedNetworks }

  /// Classifies any address. IPv4 inside IPv6 is judged as IPv4.
  package func classify(_ address: IPAddress) -> Classification {
    let address = address.unmapped
    if let rule = Self.metadata.first(where: { $0.1.contains(address) })?.0 {
      // Opening a wide network does not open metadata addresses. Each must be listed on its own.
      let isNamed = allowedNetworks.contains { $0.contains(address) && $0.prefixLength >= $0.width }
      return isNamed ? .allowed : .denied(rule: rule)
    }
    if allowedNetworks.contains(where: { $0.contains(address) }) { return openedVerdict(address) }
    switch address {
    case .v4:
      guard let rule = Self.deniedV4.first(where: { $0.1.contains(address) })?.0 else { return .allowed }
      return .denied(rule: rule)
    case .v6(_, let low):
      if let rule = Self.deniedV6.first(where: { $0.1.contains(address) })?.0 { return .denied(rule: rule) }
      if low >> 32 == 0x5EFE || low >> 32 == 0x0200_5EFE { return .denied(rule: "isatap") }
      return Self.globalUnicast.contains(address) ? .allowed : .denied(rule: "not-global-unicast")
    }
  }

  /// Classifies an address of an opened network. Embedded metadata addresses stay closed.
  private func openedVerdict(_ address: IPAddress) -> Classification {
    guard let inner = address.embedded, let rule = Self.metadata.first(where: { $0.1.contains(inner) })?.0
    else {
      return .allowed
    }
    return .denied(rule: rule)
  }

  private static let metadata: [(String, IPNetwork)] = table([
    ("cloud-metadata", "169.254.169.254/32"), ("cloud-metadata", "169.254.170.2/32"),
    ("cloud-metadata", "100.100.100.200/32"), ("cloud-metadata", "168.63.129.16/32"),
    ("cloud-metadata", "fd00:ec2::254/128"),
  ])

  private static let deniedV4: [(String, IPNetwork)] = table([
    ("this-network", "0.0.0.0/8"), ("private", "10.0.0.0/8"), ("shared-address-space", "100.64.0.0/10"),
    ("loopback", "127.0.0.0/8"), ("link-local", "169.254.0.0/16"), ("private", "172.16.0.0/12"),
    ("ietf-protocol", "192.0.0.0/24"), ("documentation", "192.0.2.0/24"), ("as112", "192.31.196.0/24"),
    ("amt", "192.52.193.0/24"), ("6to4-relay", "192.88.99.0/24"), ("private", "192.168.0.0/16"),
    ("as112", "192.175.48.0/24"), ("benchmarking", "198.18.0.0/15"), ("documentation", "198.51.100.0/24"),
    ("documentation", "203.0.113.0/24"), ("multicast", "224.0.0.0/4"), ("reserved", "240.0.0.0/4"),
  ])

  private static let globalUnicast = IPNetwork(.v6(high: 0x2000_0000_0000_0000, low: 0), 3)

  private static let deniedV6: [(String, IPNetwork)] = table([
    ("unspecified", "::/128"), ("loopback", "::1/128"), ("ipv4-compatible", "::/96"),
    ("nat64", "64:ff9b::/96"), ("nat64", "64:ff9b:1::/48"), ("discard-only", "100::/64"),
    ("teredo", "2001::/32"), ("ietf-protocol", "2001::/23"), ("documentation", "2001:db8::/32"),
    ("6to4", "2002::/16"), ("as112", "2620:4f:8000::/48"), ("documentation", "3fff::/20"),
    ("segment-routing", "5f00::/16"), ("unique-local", "fc00::/7"), ("link-local", "fe80::/10"),
    ("multicast", "ff00::/8"),
  ])

  private static func table(_ rows: [(String, String)]) -> [(String, IPNetwork)] {
    rows.map { row in
      guard let network = IPNetwork(row.1) else { preconditionFailure("malformed network \(row.1)") }
      return (row.0, network)
    }
  }
}

extension IPNetwork {
  fileprivate var width: Int { if case .v4 = base { 32 } else { 128 } }
}
