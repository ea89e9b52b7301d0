package import Addresses
package import Curl

/// The egress policy at libcurl's two callbacks: before a socket is opened and before a request is sent.
package struct EgressGate {
  private let policy: EgressPolicy
  /// The rule of the last refusal.
  package private(set) var refusedRule: String?

  package init(_ policy: EgressPolicy) { self.policy = policy }

  package mutating func mayConnect(to address: PeerAddress) -> SocketPermission {
    guard let address = IPAddress(address), isPermitted(address) else { return .refused }
    return .granted
  }

  /// - Parameter address: The numeric address that libcurl reports.
  package mutating func maySendRequest(toAddress address: String) -> Bool {
    guard let address = IPAddress(address) else { return false }
    return isPermitted(address)
  }

  private mutating func isPermitted(_ address: IPAddress) -> Bool {
    guard case .denied(let rule) = policy.classify(address) else { return true }
    refusedRule = rule
    return false
  }
}

extension IPAddress {
  /// Returns `nil` if the address is neither IPv4 nor IPv6.
  init?(_ address: PeerAddress) {
    switch address {
    case .v4(let value): self = .v4(value)
    case .v6(let high, let low): self = .v6(high: high, low: low)
    case .other: return nil
    }
  }
}
