/// The destination of a connection, as far as it is known before name lookup.
package enum NetworkDestination: Sendable, Equatable {
  case address(IPAddress)
  /// A name of this machine (RFC 6761 §6.3).
  case localhost
  /// A name whose addresses are not known yet.
  case name

  /// Classifies a host.
  /// - Parameter host: the host of a URL, in lower case. An IPv6 address may have brackets and a zone.
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
