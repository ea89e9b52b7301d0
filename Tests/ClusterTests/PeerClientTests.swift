import Cluster
import EventLoop
import Glibc
import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Requests to another service over its UNIX socket.
@Suite(.blocking, .endsInTime) struct PeerClientTests {
  /// A service that answers its first request and dies after it has received the second.
  private final class MortalPeer: Sendable {
    let path = TemporaryDirectory.make("ferry-peer") + "/socket"
    private let received = Mutex(0)

    init() {
      let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      _ = UnixAddress.with(path) { bind(listener, $0, $1) }
      listen(listener, 5)
      POSIXThread.spawn(name: "test-peer") { [self] in
        let connection = accept(listener, nil, nil)
        receive(on: connection)
        let reply = "HTTP/1.1 204 No Content\r\n\r\n"
        _ = send(connection, reply, reply.utf8.count, Int32(MSG_NOSIGNAL))
        receive(on: connection)
        close(listener)
        close(connection)
      }
    }

    /// Reads a request with the body `end`.
    private func receive(on connection: Int32) {
      var text = ""
      var bytes = [UInt8](repeating: 0, count: 4096)
      while !text.hasSuffix("\r\n\r\nend") {
        let count = recv(connection, &bytes, bytes.count, 0)
        guard count > 0 else { return }
        text += String(decoding: bytes.prefix(count), as: UTF8.self)
      }
      received.withLock { $0 += 1 }
    }

    var count: Int { received.withLock { $0 } }
  }

  /// libcurl would resend the request on a new connection and report that it cannot connect. The caller would then send the request to
  /// another service, although the first may have carried it out.
  @Test func `request to a dying service is lost and not unreachable`() async throws {
    let (peer, loop) = (MortalPeer(), EventLoop(name: "test-peers"))
    let client = PeerClient(loop: loop) { _ in peer.path }
    let request = ServerRequest(
      head: HTTPRequest(method: .post, scheme: "http", authority: "ferry", path: nil), path: "/v1/tasks",
      query: "", body: RequestBody([]), localPort: 0)
    loop.start()
    let reply = try await client.send(request, [:], body: Array("end".utf8), to: "peer")
    #expect(reply.head.status == .noContent)
    // No process listens when the third request is sent.
    var isLost: [Bool] = []
    for _ in 0..<2 {
      let failure = await #expect(throws: PeerFailure.self) {
        try await client.send(request, [:], body: Array("end".utf8), to: "peer")
      }
      let wasLost = if case .lost = failure { true } else { false }
      isLost.append(wasLost)
    }
    #expect(isLost == [true, false] && peer.count == 2)
    await client.close()
    await loop.stopAndJoin()
  }
}
