import Foundation
import Glibc
import TestSupport
import Testing

@Suite(.blocking, .enabled(if: NetworkNamespace.isAvailable)) struct NetworkNamespaceTests {
  @Test func `programs see only the network of their namespace`() throws {
    let (here, there) = (try NetworkNamespace(), try NetworkNamespace())
    #expect(try here.ip("-brief link").split(separator: "\n").count == 1)
    try here.connect("eth0", "192.0.2.1/24", to: there, "far0", "192.0.2.2/24")
    #expect(try here.ip("-brief address show eth0").contains("192.0.2.1/24"))
    #expect(try there.ip("route get 192.0.2.1").contains("dev far0"))
    #expect(throws: Socket.Failure.self) { try here.ip("link show far0") }
    try there.ip("link set far0 down")
    #expect(try there.ip("link show far0").contains("state DOWN"))
  }

  @Test(.enabled(if: NetworkNamespace.isOpenToThreads)) func `thread enters only for its body`() throws {
    let namespace = try NetworkNamespace()
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self/ns/net")
    let other = try namespace.inside {
      try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self/ns/net")
    }
    #expect(own != other)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self/ns/net") == own)
    #expect(try namespace.run(["readlink", "/proc/self/ns/net"]) == other + "\n")
  }

  @Test func `namespace ends with its owner`() throws {
    let keeper = try NetworkNamespace().keeper
    #expect(kill(keeper, 0) == -1 && errno == ESRCH)
  }
}
