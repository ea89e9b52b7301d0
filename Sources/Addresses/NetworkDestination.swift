/// Where a connection is to go, as far as it is known before names are looked up.
package enum NetworkDestination: Sendable, Equatable {
  case address(IPAddress)
  /// A name of this machine (RFC 6761 §6.3).
  case localhost
  /// A name whose addresses are not known yet.
  case name

  /// - Parameter host: as URLs have it, in lower case; an IPv6 address may stand in brackets and have a zone.
  package init(host: String) {
    let bare = host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" && $0 != "%" } : Substring(host)
    let name = bare.hasSuffix(".") ? bare.dropLast() : bare
    if let address = IPAddress(String(bare)) {
      self = .address(address)
    } else {
      self = name == "localhost" || name.hasSuffix(".localhost") ? .localhost : .name
    }
  }
}
