import EventLoop
import Glibc

/// A DNS server in a namespace, at port 53 of all its addresses. Every name has the same IPv4 address.
package final class NameServer: Sendable {
  private let descriptor: Int32

  package init(in namespace: NetworkNamespace, address: String) throws {
    let descriptor = try namespace.inside { socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0) }
    self.descriptor = descriptor
    var own = Socket.loopback(53)
    own.sin_addr.s_addr = 0
    let status = withUnsafePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw Socket.Failure(operation: "bind to port 53", errno: errno) }
    let numbers = address.split(separator: ".").compactMap { UInt8($0) }
    POSIXThread.spawn(name: "test-names") { Self.serve(descriptor, numbers) }
  }

  deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

  private static func serve(_ descriptor: Int32, _ address: [UInt8]) {
    defer { close(descriptor) }
    var (query, sender) = ([UInt8](repeating: 0, count: 512), sockaddr_in())
    while true {
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let reply: [UInt8]? = withUnsafeMutablePointer(to: &sender) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          let count = recvfrom(descriptor, &query, query.count, 0, $0, &length)
          return count > 0 ? answer(Array(query[..<count]), address) : nil
        }
      }
      guard let reply else { return }
      _ = withUnsafePointer(to: &sender) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(descriptor, reply, reply.count, 0, $0, length)
        }
      }
    }
  }

  /// RFC 1035 §4.1: the reply contains the question section of the query. For type A it has a record that points to the name.
  private static func answer(_ query: [UInt8], _ address: [UInt8]) -> [UInt8] {
    guard query.count > 12, let end = query[12...].firstIndex(of: 0), end + 4 < query.count else {
      return [0]
    }
    let isA = query[end + 2] == 1
    let head = [query[0], query[1], 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]
    let record: [UInt8] = isA ? [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + address : []
    return head + query[12...(end + 4)] + record
  }
}
