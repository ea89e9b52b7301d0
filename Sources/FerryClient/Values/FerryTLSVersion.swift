/// A version of TLS. `tls_protocol_version_t` in Apple's Security framework.
public enum FerryTLSVersion: String, Sendable, CaseIterable {
  case TLSv10 = "TLSv1.0"
  case TLSv11 = "TLSv1.1"
  case TLSv12 = "TLSv1.2"
  case TLSv13 = "TLSv1.3"
}
