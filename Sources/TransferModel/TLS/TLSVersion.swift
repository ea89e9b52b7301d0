/// The TLS versions for connections to origins (tls_protocol_version_t).
package enum TLSVersion: String, Sendable, CaseIterable {
  case v10 = "TLSv1.0"
  case v11 = "TLSv1.1"
  case v12 = "TLSv1.2"
  case v13 = "TLSv1.3"
}

extension TLSVersion: Comparable {
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
