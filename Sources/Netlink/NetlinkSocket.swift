internal import CNetlink
internal import Glibc

/// A socket that receives the kernel's notifications about links, addresses and routes, and answers to requests (rtnetlink(7)). It
/// belongs to the network namespace of the thread that opened it. It never blocks.
package final class NetlinkSocket: Sendable {
  package struct Failure: Error, Sendable {
    package let operation: String
    package let errno: Int32
  }
  enum Reception {
    case bytes([UInt8])
    case nothing
    /// Messages were lost.
    case overrun
  }

  let descriptor: Int32
  /// The socket's own address.
  let port: UInt32

  package init() throws(Failure) {
    let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let opened = socket(AF_NETLINK, type, NETLINK_ROUTE)
    guard opened >= 0 else { throw Failure(operation: "socket", errno: errno) }
    do throws(Failure) {
      port = try Self.bind(opened)
    } catch {
      close(opened)
      throw error
    }
    descriptor = opened
  }

  deinit { close(descriptor) }

  private static func bind(_ descriptor: Int32) throws(Failure) -> UInt32 {
    var address = sockaddr_nl()
    address.nl_family = sa_family_t(AF_NETLINK)
    address.nl_groups = UInt32(
      RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)
    var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard status else { throw Failure(operation: "bind", errno: errno) }
    return address.nl_pid
  }

  /// Sends a request.
  /// - Returns: whether the kernel accepted it.
  func send(_ request: [UInt8]) -> Bool {
    request.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0) } == request.count
  }

  /// Receives a message.
  /// - Parameter buffer: must have room for 32 KiB, the largest piece of a dump.
  func receive(into buffer: inout [UInt8]) -> Reception {
    while true {
      var sender = sockaddr_nl()
      var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
      let count = withUnsafeMutablePointer(to: &sender) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          recvfrom(descriptor, &buffer, buffer.count, Int32(MSG_TRUNC), $0, &length)
        }
      }
      if count < 0 {
        if errno == EINTR { continue }
        return errno == ENOBUFS ? .overrun : .nothing
      }
      guard sender.nl_pid == 0 else { continue }  // not the kernel
      return count > buffer.count ? .overrun : .bytes(Array(buffer[..<count]))
    }
  }
}
