import Foundation
import JSON
import TestSupport
import Testing

/// Socket activation: Ferry serves the socket of a service manager instead of `--listen` (sd_listen_fds(3)).
@Suite(.blocking, .endsInTime) struct SocketActivationTests {
  private let directory = TemporaryDirectory.make("ferry-socket")

  @Test func `passed socket is served`() throws {
    let given = try InheritedSocket(.loopback)
    // The request waits in the socket's backlog for the service.
    let early = try HTTPClient(port: given.port)
    try early.socket.write("GET /livez HTTP/1.1\r\nHost: 127.0.0.1:\(given.port)\r\n\r\n")
    let ferry = try FerryProcess(wrapper: InheritedSocket.wrapper(), input: given.handle)
    #expect(ferry.port == given.port)
    #expect(try early.readReply().status == 200)
    #expect(try ferry.call("GET", "/v1/sessions/ses_shared").status == 200)
    #expect(ferry.terminate() == 0)
    // The service manager keeps the socket open for the next service.
    let late = try HTTPClient(port: given.port)
    try late.socket.write("GET /livez HTTP/1.1\r\nHost: 127.0.0.1:\(given.port)\r\n\r\n")
    let next = try FerryProcess(wrapper: InheritedSocket.wrapper(), input: given.handle)
    #expect(try late.readReply().status == 200)
    #expect(next.terminate() == 0)
  }

  /// Only programs on this machine can reach a UNIX socket, so it needs no token.
  @Test func `UNIX socket is served without a token`() throws {
    let path = directory + "/http"
    let given = try InheritedSocket(.local(path))
    let ferry = try FerryProcess(wrapper: InheritedSocket.wrapper(), input: given.handle)
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
    #expect(FileManager.default.fileExists(atPath: path), "the service keeps the manager's socket file")
  }

  private static let unusable =
    "descriptor 3 is not a listening stream socket; set ListenStream= in the socket unit"

  private func expectRefusal(_ kind: InheritedSocket.Kind, count: Int = 1, _ reason: String) throws {
    let given = try InheritedSocket(kind)
    let result = try FerryCommand.run(
      ["serve", "--data-directory", directory], wrapper: InheritedSocket.wrapper(count: count),
      input: given.handle
    )
    #expect(result.status == 1)
    #expect(result.output == "ferry: LISTEN_FDS: \(reason)\n")
  }

  @Test func `unusable socket is refused`() throws {
    try expectRefusal(.deaf, Self.unusable)
    try expectRefusal(.datagrams, Self.unusable)
    try expectRefusal(
      .loopback, count: 2,
      "2 sockets were passed, but Ferry serves only one; leave one in the socket unit (unknown, unknown)")
    // The rule applies to the socket's own address, not to `--listen`.
    try expectRefusal(
      .everywhere,
      "0.0.0.0 can be reached from other machines, which requires a token; give --token-file, "
        + "or pass a loopback address or a UNIX socket")
  }

  @Test func `any address is served with a token`() throws {
    let tokens = directory + "/tokens"
    try "secret\n".write(toFile: tokens, atomically: true, encoding: .utf8)
    let given = try InheritedSocket(.everywhere)
    let ferry = try FerryProcess(
      options: ["--token-file", tokens], wrapper: InheritedSocket.wrapper(), input: given.handle)
    #expect(try ferry.call("GET", "/v1/sessions/ses_shared").status == 401)
    let known = try ferry.call("GET", "/v1/sessions/ses_shared", nil, [("Authorization", "Bearer secret")])
    #expect(known.status == 200)
  }

  /// The sockets belong to another process if `LISTEN_PID` is not the service's id.
  @Test func `sockets of another process are ignored`() throws {
    let ferry = try FerryProcess(environment: ["LISTEN_PID": "1", "LISTEN_FDS": "1"])
    #expect(try ferry.call("GET", "/livez").status == 200)
  }
}
