import EventLoop
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.blocking) struct HealthProbeTests {
  private func judge(_ reply: String) throws -> String {
    try HealthProbe.judge(Array(reply.utf8), of: "http://a/livez")
  }

  @Test func whatAnswersSay() throws {
    #expect(try judge("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n") == "ok")
    #expect(try judge("HTTP/1.1 200 OK\r\n\r\n") == "")
  }

  @Test(arguments: [
    ("", "no answer in HTTP"), ("SSH-2.0-OpenSSH\r\n", "no answer in HTTP"),
    ("HTTP/1.1 yes\r\n", "no answer"),
    ("HTTP/1.1 503 Service Unavailable\r\n\r\n{}", "answers 503"),
    ("HTTP/1.1 302 Found\r\n\r\n", "answers 302"),
  ]) func whatIsNoGoodAnswer(_ reply: String, _ reason: String) {
    let failure = #expect(throws: HealthProbe.Failure.self) { try judge(reply) }
    #expect(failure?.description.contains(reason) == true)
  }

  @Test func whoDoesNotAnswerInTime() throws {
    // The kernel takes the connection, and nobody reads.
    let silent = try HandedOver(.loopback)
    let failure = #expect(throws: HealthProbe.Failure.self) {
      try HealthProbe.ask(host: "127.0.0.1", port: silent.port, path: "/", timeout: .milliseconds(50))
    }
    #expect(failure?.description.contains("does not answer in time") == true)
  }

  @Test func whereNobodyIs() throws {
    let failure = #expect(throws: HealthProbe.Failure.self) {
      try HealthProbe.ask(host: "127.0.0.1", port: 1, path: "/", timeout: .seconds(3))
    }
    #expect(failure?.description.contains("cannot be reached") == true)
  }
}

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
