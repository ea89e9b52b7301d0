internal import CCurl
internal import CHandshake
internal import Glibc

/// The permission to open a socket.
package enum SocketPermission: Sendable, Equatable {
  case refused
  case granted
  /// Only through the network interface with this name.
  case grantedThrough(String)
}

/// Sets the code point of a socket's packets, including the first. Returns `false` with errno if that fails.
func mark(_ socket: Int32, _ family: Int32, _ codePoint: UInt8) -> Bool {
  guard codePoint != 0 else { return true }
  // The two lower bits belong to the kernel's congestion notification (RFC 3168).
  var value = Int32(codePoint) << 2
  let isV6 = family == AF_INET6
  let (level, name) = isV6 ? (Int32(IPPROTO_IPV6), IPV6_TCLASS) : (Int32(IPPROTO_IP), IP_TOS)
  return setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
}
