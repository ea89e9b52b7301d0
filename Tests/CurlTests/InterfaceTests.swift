import Curl
import EventLoop
import TestSupport
import Testing

@Suite(.blocking) struct InterfaceTests {
  private final class Fetch: EasyHandleDelegate {
    var body: [UInt8] = []
    func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { true }
    func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
      body += bytes
      return .accepted
    }
    let permission: SocketPermission
    init(_ permission: SocketPermission) { self.permission = permission }
    func mayConnect(to address: PeerAddress) -> SocketPermission { permission }
    func maySendRequest(toAddress address: String) -> Bool { true }
  }

  private actor Resident {
    nonisolated let loop = EventLoop(name: "test-interface")
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    init() { loop.start() }

    func get(_ url: String, _ permission: SocketPermission) async throws -> (CurlResult, [UInt8]) {
      let transport = try CurlTransport(loop: loop, multiplexing: false, maximumIdleConnections: 1)
      defer { transport.close() }
      let (easy, fetch) = (try EasyHandle(), Fetch(permission))
      try easy.set(.url, to: url)
      try easy.set(.noSignal, to: 1)
      try easy.set(.proxy, to: "")
      try easy.setCallbacks(fetch, in: transport.multi)
      let result = try await withCheckedThrowingContinuation { continuation in
        transport.onCompletion = { continuation.resume(returning: $0.result) }
        do { try transport.add(easy) } catch { continuation.resume(throwing: error) }
      }
      return (result, fetch.body)
    }
  }

  @Test(
    arguments: [
      (.granted, .ok), (.grantedThrough("lo"), .ok), (.grantedThrough("nonexistent0"), .couldntConnect),
      (.refused, .couldntConnect),
    ] as [(SocketPermission, CurlResult)])
  func `chosen interface is used`(_ permission: SocketPermission, _ expected: CurlResult) async throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK", Array("hello".utf8)))
      return true
    }
    let resident = Resident()
    let (result, body) = try await resident.get(origin.url + "/", permission)
    #expect(result == expected)
    #expect(body == (expected == .ok ? Array("hello".utf8) : []))
    #expect(origin.requests.isEmpty == (expected != .ok))
    await resident.loop.stopAndJoin()
  }
}
