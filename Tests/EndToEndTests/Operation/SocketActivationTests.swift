import Foundation
import JSON
import TestSupport
import Testing

/// A socket that a service manager has opened is served in the place of `--listen` (sd_listen_fds(3)).
@Suite(.blocking, .endsInTime) struct SocketActivationTests {
  private let directory = TemporaryDirectory.make("ferry-socket")

  @Test func theSocketThatWasHandedOverIsServed() throws {
    let given = try HandedOver(.loopback)
    // It waits for the service.
    let early = try HTTPClient(port: given.port)
    try early.socket.write("GET /livez HTTP/1.1\r\nHost: 127.0.0.1:\(given.port)\r\n\r\n")
    let ferry = try FerryProcess(wrapper: HandedOver.wrapper(), input: given.handle)
    #expect(ferry.port == given.port)
    #expect(try early.readReply().status == 200)
    #expect(try ferry.call("GET", "/v1/sessions/ses_shared").status == 200)
    #expect(ferry.terminate() == 0)
    // The one who opened it still has it, for the next.
    let late = try HTTPClient(port: given.port)
    try late.socket.write("GET /livez HTTP/1.1\r\nHost: 127.0.0.1:\(given.port)\r\n\r\n")
    let next = try FerryProcess(wrapper: HandedOver.wrapper(), input: given.handle)
    #expect(try late.readReply().status == 200)
    #expect(next.terminate() == 0)
  }

  /// Only programs on this machine can come through it: no token is needed.
  @Test func aUnixSocketIsServed() throws {
    let path = directory + "/http"
    let given = try HandedOver(.local(path))
    let ferry = try FerryProcess(wrapper: HandedOver.wrapper(), input: given.handle)
    let client = try HTTPClient(path: path)
    let local = [("Host", "localhost")]
    #expect(try client.send("GET", "/readyz", nil, local).status == 200)
    let bytes = Pattern.bytes(3_000_000)
    let stored = try client.send("POST", "/v1/files", bytes, local + [("Content-Type", "text/plain")])
    #expect(stored.status == 201)
    #expect(try client.send("GET", "/v1/files/\(stored.json.id)", nil, local).body == bytes)
    let refused = try client.send("GET", "/v1/sessions/ses_shared", nil, [("Host", "elsewhere.test")])
    #expect(refused.status == 403)
    #expect(ferry.terminate() == 0)
    #expect(FileManager.default.fileExists(atPath: path), "its name is the manager's")
  }

  private func expectRefusal(_ kind: HandedOver.Kind, count: Int = 1, _ reason: String) throws {
    let given = try HandedOver(kind)
    let result = try FerryCommand.run(
      ["serve", "--data-directory", directory], wrapper: HandedOver.wrapper(count: count), input: given.handle
    )
    #expect(result.status == 1)
    #expect(result.output == "ferry: LISTEN_FDS: \(reason)\n")
  }

  @Test func whatCannotBeServedIsRefused() throws {
    try expectRefusal(.deaf, "descriptor 3 is not a stream socket that listens")
    try expectRefusal(.datagrams, "descriptor 3 is not a stream socket that listens")
    try expectRefusal(
      .loopback, count: 2, "one socket can be served, and 2 were handed over (unknown, unknown)")
    // The rule is about the socket's own address, not about --listen.
    try expectRefusal(
      .everywhere,
      "without a token (--token-file) only a loopback address or a UNIX socket is allowed, not 0.0.0.0")
  }

  @Test func withATokenAnyAddressIsServed() throws {
    let tokens = directory + "/tokens"
    try "secret\n".write(toFile: tokens, atomically: true, encoding: .utf8)
    let given = try HandedOver(.everywhere)
    let ferry = try FerryProcess(
      options: ["--token-file", tokens], wrapper: HandedOver.wrapper(), input: given.handle)
    #expect(try ferry.call("GET", "/v1/sessions/ses_shared").status == 401)
    let known = try ferry.call("GET", "/v1/sessions/ses_shared", nil, [("Authorization", "Bearer secret")])
    #expect(known.status == 200)
  }

  /// What was meant for a parent is left alone.
  @Test func socketsForAnotherProcessAreNotTaken() throws {
    let ferry = try FerryProcess(environment: ["LISTEN_PID": "1", "LISTEN_FDS": "1"])
    #expect(try ferry.call("GET", "/livez").status == 200)
  }
}
