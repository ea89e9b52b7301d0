import Glibc
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.blocking) struct ListeningAddressTests {
  /// An address for documentation (RFC 3849), which no machine has.
  @Test func `missing address leads to the next one`() throws {
    let socket = try ListeningSocket(hosts: ["2001:db8::1", "127.0.0.1"], port: 0)
    defer { close(socket.descriptor) }
    #expect("\(socket.address)".hasPrefix("127.0.0.1:"))
    let failure = #expect(throws: HTTPServer.Failure.self) {
      try ListeningSocket(hosts: ["2001:db8::1"], port: 0)
    }
    #expect(failure?.description.contains("2001:db8::1") == true)
  }

  @Test func `port in use leads to no other address`() throws {
    let socket = try ListeningSocket(hosts: ["127.0.0.1"], port: 0)
    defer { close(socket.descriptor) }
    let failure = #expect(throws: HTTPServer.Failure.self) {
      try ListeningSocket(hosts: ["127.0.0.1", "127.0.0.2"], port: try #require(socket.address.port))
    }
    #expect(failure?.code == EADDRINUSE)
  }

  @Test func `all addresses include IPv4`() throws {
    let socket = try ListeningSocket(hosts: ["::", "0.0.0.0"], port: 0)
    defer { close(socket.descriptor) }
    _ = try Socket(connectingTo: try #require(socket.address.port))
  }
}
