import EventLoop
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.blocking) struct ListeningSocketTests {
  @Test func `address is described`() throws {
    #expect("\(ListeningSocket.Address.internet(host: "::1", port: 80))" == "[::1]:80")
    #expect("\(ListeningSocket.Address.internet(host: "127.0.0.1", port: 80))" == "127.0.0.1:80")
    #expect("\(ListeningSocket.Address.local(path: "/run/ferry.sock"))" == "unix:/run/ferry.sock")
  }

  @Test func `inherited socket is served`() throws {
    let given = try InheritedSocket(.loopback)
    let socket = try ListeningSocket(inherited: given.handle.fileDescriptor)
    #expect(socket.address == .internet(host: "127.0.0.1", port: given.port))
    #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(fcntl(socket.descriptor, F_GETFL) & O_NONBLOCK != 0)
  }

  @Test(arguments: [true, false]) func `Unix socket has a path or a name`(_ isAbstract: Bool) throws {
    let path = isAbstract ? "@ferry-\(UUID().uuidString)" : TemporaryDirectory.make("listen") + "/socket"
    let given = try InheritedSocket(.local(path))
    #expect(try ListeningSocket(inherited: given.handle.fileDescriptor).address == .local(path: path))
  }

  @Test(arguments: [InheritedSocket.Kind.deaf, .datagrams]) func `socket that does not listen is refused`(
    _ kind: InheritedSocket.Kind
  ) throws {
    let given = try InheritedSocket(kind)
    let failure = #expect(throws: HTTPServer.Failure.self) {
      try ListeningSocket(inherited: given.handle.fileDescriptor)
    }
    #expect(failure?.message.contains("is not a listening stream socket") == true)
    // No process may have as many descriptors.
    #expect(throws: HTTPServer.Failure.self) { try ListeningSocket(inherited: .max) }
  }
}
