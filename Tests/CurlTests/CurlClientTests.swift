import Curl
import EventLoop
import Synchronization
import TestSupport
import Testing

@Suite(.blocking, .endsInTime) struct CurlClientTests {
  /// An exchange that records its ends. Used on the loop only.
  private final class Exchange: CurlExchange {
    private(set) var ends: [CurlResult] = []
    private(set) var status = 0
    private let whenEnded: (Exchange) -> Void
    init(_ whenEnded: @escaping (Exchange) -> Void) { self.whenEnded = whenEnded }

    func end(_ easy: EasyHandle, _ result: CurlResult) {
      ends.append(result)
      status = easy.info(.responseCode)
      whenEnded(self)
    }
    func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { true }
    func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition { .accepted }
    func mayConnect(to address: PeerAddress) -> SocketPermission { .granted }
    func maySendRequest(toAddress address: String) -> Bool { true }
  }
  /// The reported ends of a request. They are recorded with a delay, so that a second end would be found.
  private typealias End = (ends: [CurlResult], status: Int, refusal: String?)

  /// Sends one request. `body` runs on the loop after its start.
  private func send(
    to url: String, timeout: Duration?, isRefused: Bool = false,
    _ body: @escaping @Sendable (CurlClient) -> Void = { _ in }
  ) async -> End {
    let loop = EventLoop(name: "test-client")
    loop.start()
    let end = await withCheckedContinuation { (continuation: CheckedContinuation<End, Never>) in
      loop.perform {
        let client = CurlClient(loop: loop, maximumIdle: 1)
        // By then, a second end would have been recorded.
        func conclude(_ exchange: Exchange, _ refusal: String?) {
          loop.schedule(at: .now + (timeout ?? .zero) + .milliseconds(20)) {
            client.close()
            continuation.resume(returning: (exchange.ends, exchange.status, refusal))
          }
        }
        let exchange = Exchange { conclude($0, nil) }
        do throws(CurlError) {
          try client.start(exchange, timeout: timeout) { (easy, multi) throws(CurlError) in
            try easy.set(.url, to: url)
            // libcurl refuses a handle that was added already.
            if isRefused { try multi.add(easy) }
          }
        } catch {
          conclude(exchange, error.operation)
        }
        body(client)
      }
    }
    await loop.stopAndJoin()
    return end
  }

  private static func origin() -> TestOrigin {
    TestOrigin { _, socket in
      try socket.write(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))
      return true
    }
  }

  @Test func `request ends once`() async {
    let origin = Self.origin()
    let end = await send(to: origin.url + "/", timeout: .milliseconds(200))
    #expect(end.ends == [.ok] && end.status == 204)
  }

  /// Neither the deadline nor the client's end ends the request later.
  @Test func `request that cannot start gets no end`() async {
    let end = await send(to: "http://127.0.0.1:1/", timeout: .milliseconds(20), isRefused: true)
    #expect(end.ends.isEmpty && end.refusal?.contains("multi_add_handle") == true)
  }

  @Test func `deadline ends a request`() async throws {
    let silent = try InheritedSocket(.loopback)
    let end = await send(to: "http://127.0.0.1:\(silent.port)/", timeout: .milliseconds(20))
    #expect(end.ends == [.operationTimedOut])
  }

  @Test func `closing the client ends running requests`() async throws {
    let silent = try InheritedSocket(.loopback)
    let end = await send(to: "http://127.0.0.1:\(silent.port)/", timeout: nil) { $0.close() }
    #expect(end.ends == [.abortedByCallback])
  }

  /// Connections are kept for later requests, until `renew`.
  @Test(arguments: [false, true]) func `renewing the client closes connections`(_ isRenewed: Bool) async {
    let accepted = Mutex<[Socket]>([])
    let origin = TestOrigin { _, socket in
      accepted.withLock { known in if !known.contains(where: { $0 === socket }) { known.append(socket) } }
      try socket.write(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))
      return true
    }
    let loop = EventLoop(name: "test-client")
    loop.start()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      loop.perform {
        let client = CurlClient(loop: loop, maximumIdle: 1)
        func start(_ whenEnded: @escaping () -> Void) {
          try? client.start(Exchange { _ in loop.schedule(at: .now, whenEnded) }) {
            (easy, _) throws(CurlError) in try easy.set(.url, to: origin.url + "/")
          }
        }
        start {
          if isRenewed { client.renew() }
          start {
            client.close()
            continuation.resume()
          }
        }
      }
    }
    await loop.stopAndJoin()
    #expect(origin.requests.count == 2)
    #expect(accepted.withLock { $0.count } == (isRenewed ? 2 : 1))
  }
}
