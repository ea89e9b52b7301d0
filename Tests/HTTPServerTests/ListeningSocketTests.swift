import EventLoop
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.blocking) struct ListeningSocketTests {
  @Test func whereItListensIsTold() throws {
    #expect("\(ListeningSocket.Address.internet(host: "::1", port: 80))" == "[::1]:80")
    #expect("\(ListeningSocket.Address.internet(host: "127.0.0.1", port: 80))" == "127.0.0.1:80")
    #expect("\(ListeningSocket.Address.local(path: "/run/ferry.sock"))" == "unix:/run/ferry.sock")
  }

  @Test func oneThatWasHandedOverIsServed() throws {
    let given = try HandedOver(.loopback)
    let socket = try ListeningSocket(inherited: given.handle.fileDescriptor)
    #expect(socket.address == .internet(host: "127.0.0.1", port: given.port))
    #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(fcntl(socket.descriptor, F_GETFL) & O_NONBLOCK != 0)
  }

  @Test(arguments: [true, false]) func aUnixSocketHasAPathOrAName(_ isAbstract: Bool) throws {
    let path = isAbstract ? "@ferry-\(UUID().uuidString)" : TemporaryDirectory.make("listen") + "/socket"
    let given = try HandedOver(.local(path))
    #expect(try ListeningSocket(inherited: given.handle.fileDescriptor).address == .local(path: path))
  }

  @Test(arguments: [HandedOver.Kind.deaf, .datagrams]) func whatDoesNotListenIsRefused(
    _ kind: HandedOver.Kind
  ) throws {
    let given = try HandedOver(kind)
    let failure = #expect(throws: HTTPServer.Failure.self) {
      try ListeningSocket(inherited: given.handle.fileDescriptor)
    }
    #expect(failure?.message.contains("is not a stream socket that listens") == true)
    // No process may have as many descriptors.
    #expect(throws: HTTPServer.Failure.self) { try ListeningSocket(inherited: .max) }
  }
}
