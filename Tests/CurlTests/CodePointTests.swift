import Curl
import EventLoop
import Glibc
import TestSupport
import Testing

/// The code point of a connection's packets, as the peer receives them.
@Suite(.blocking) struct CodePointTests {
  private final class Connecting: EasyHandleDelegate {
    func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool { true }
    func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition { .accepted }
    func mayConnect(to address: PeerAddress) -> SocketPermission { .granted }
    func maySendRequest(toAddress address: String) -> Bool { true }
  }

  private actor Resident {
    nonisolated let loop = EventLoop(name: "test-code-point")
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let handles = EasyHandlePool(maximumIdle: 1, version: .init(8, 14, 0))
    init() { loop.start() }

    func connect(_ url: String, codePoint: UInt8) async throws -> CurlResult {
      let transport = try CurlTransport(loop: loop, multiplexing: false, maximumIdleConnections: 1)
      defer { transport.close() }
      let (easy, delegate) = (try handles.dequeue(), Connecting())
      try easy.set(.url, to: url)
      try easy.set(.noSignal, to: 1)
      try easy.set(.proxy, to: "")
      try easy.set(.connectOnly, to: 1)
      if codePoint > 0 { easy.codePoint = codePoint }
      try easy.setCallbacks(delegate, in: transport.multi)
      let result = try await withCheckedThrowingContinuation { continuation in
        transport.onCompletion = { continuation.resume(returning: $0.result) }
        do { try transport.add(easy) } catch { continuation.resume(throwing: error) }
      }
      handles.enqueue(easy)
      return result
    }
  }

  /// Returns a listener on a loopback address, and its port.
  private static func listen(v6: Bool) -> (descriptor: Int32, port: Int) {
    let descriptor = socket(v6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var storage = sockaddr_storage()
    var length = socklen_t(v6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutableBytes(of: &storage) { raw in
      let address = raw.baseAddress!
      if v6 {
        var loopback = sockaddr_in6()
        loopback.sin6_family = sa_family_t(AF_INET6)
        loopback.sin6_addr = in6addr_loopback
        address.storeBytes(of: loopback, as: sockaddr_in6.self)
      } else {
        var loopback = sockaddr_in()
        loopback.sin_family = sa_family_t(AF_INET)
        loopback.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.storeBytes(of: loopback, as: sockaddr_in.self)
      }
      let any = address.assumingMemoryBound(to: sockaddr.self)
      bind(descriptor, any, length)
      Glibc.listen(descriptor, 8)
      getsockname(descriptor, any, &length)
      return (descriptor, Int(UInt16(bigEndian: raw.load(fromByteOffset: 2, as: UInt16.self))))
    }
  }

  @Test(arguments: [false, true]) func `first packet has the code point`(v6: Bool) async throws {
    let (listener, port) = Self.listen(v6: v6)
    defer { close(listener) }
    let resident = Resident()
    // The last connection reuses a handle, whose code point was reset.
    for codePoint: UInt8 in [0, 8, 46, 34, 0] {
      let url = "http://\(v6 ? "[::1]" : "127.0.0.1"):\(port)/"
      #expect(try await resident.connect(url, codePoint: codePoint) == .ok)
      let seen = Socket(descriptor: accept(listener, nil, nil)).trafficClass
      #expect(seen == Int(codePoint) << 2, "\(codePoint)")
    }
    await resident.loop.stopAndJoin()
  }
}
