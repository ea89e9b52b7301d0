internal import CCurl
internal import CHandshake
internal import Glibc

/// Whether a socket may be opened.
package enum SocketPermission: Sendable, Equatable {
  case refused
  case granted
  /// By the network interface of that name, and no other.
  case grantedThrough(String)
}

/// Marks what a socket sends, its first packet included; false with errno where that cannot be.
func mark(_ socket: Int32, _ family: Int32, _ codePoint: UInt8) -> Bool {
  guard codePoint != 0 else { return true }
  // The two lower bits are for congestion notification (RFC 3168), and the kernel's own.
  var value = Int32(codePoint) << 2
  let isV6 = family == AF_INET6
  let (level, name) = isV6 ? (Int32(IPPROTO_IPV6), IPV6_TCLASS) : (Int32(IPPROTO_IP), IP_TOS)
  return setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
}
