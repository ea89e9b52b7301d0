internal import CCurl
internal import CHandshake
internal import Glibc

/// The address that a socket is about to be connected to.
package enum PeerAddress: Sendable, Equatable {
  case v4(UInt32)
  case v6(high: UInt64, low: UInt64)
  /// Neither IPv4 nor IPv6.
  case other

  init(_ address: UnsafePointer<curl_sockaddr>) {
    // The address at the end of curl_sockaddr is longer than its declared type, so the raw bytes are read.
    let raw = UnsafeRawPointer(address) + MemoryLayout<curl_sockaddr>.offset(of: \.addr)!
    self.init(sockaddr: raw, family: address.pointee.family)
  }

  private init(sockaddr raw: UnsafeRawPointer, family: Int32) {
    switch family {
    case AF_INET:
      let address = raw.loadUnaligned(as: sockaddr_in.self)
      self = .v4(UInt32(bigEndian: address.sin_addr.s_addr))
    case AF_INET6:
      let offset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!
      let high = (raw + offset).loadUnaligned(as: UInt64.self)
      let low = (raw + offset + 8).loadUnaligned(as: UInt64.self)
      self = .v6(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
    default: self = .other
    }
  }
}
