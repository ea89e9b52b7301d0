import Addresses
import Curl
import EventLoop
import Glibc
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite(.blocking) struct OriginProbeTests {
  private func withProbe(
    allowing network: String = "127.0.0.0/8", trusting authority: String? = nil,
    _ body: (OriginProbe) async throws -> Void
  ) async throws {
    let loop = EventLoop(name: "test-probe")
    loop.start()
    let egress = EgressPolicy(allowedNetworks: [try #require(IPNetwork(network))])
    let probe = OriginProbe(
      loop: loop, egress: egress,
      authorities: CertificateAuthorities(
        try authority.map(CertificateAuthoritySet.init(pem:)) ?? CertificateAuthoritySet()))
    try await body(probe)
    await probe.close()
    await loop.stopAndJoin()
  }

  private func isOK(_ step: ProbeResult.Step) -> Bool {
    guard case .ok(let seconds) = step else { return false }
    return (0..<10).contains(seconds)
  }
  private func hasFailed(_ step: ProbeResult.Step) -> Bool {
    guard case .failed(let seconds) = step else { return false }
    return (0..<10).contains(seconds)
  }

  @Test func `open port is reached without a request`() async throws {
    let origin = TestOrigin { _, _ in true }
    try await withProbe { probe in
      let result = await probe.probe(try CurlURL(origin.url + "/"), timeout: .seconds(10))
      #expect(isOK(result.nameLookup) && isOK(result.connect) && result.tls == .skipped)
      #expect(result.remoteAddress == "127.0.0.1" && result.failure == nil)
    }
    #expect(origin.requests.isEmpty)
  }

  @Test func `closed port is reported as refused`() async throws {
    let (descriptor, port) = Silent.bind()
    defer { close(descriptor) }
    try await withProbe { probe in
      let result = await probe.probe(try CurlURL("http://127.0.0.1:\(port)/"), timeout: .seconds(10))
      #expect(isOK(result.nameLookup) && hasFailed(result.connect) && result.tls == .skipped)
      #expect(result.failure?.result == .couldntConnect && result.failure?.rule == nil)
      #expect(result.failure?.message.isEmpty == false)
    }
  }

  @Test func `unknown name is reported as not found`() async throws {
    try await withProbe { probe in
      let result = await probe.probe(try CurlURL("https://nonexistent.invalid/"), timeout: .seconds(20))
      guard case .failed = result.nameLookup else {
        Issue.record("\(result)")
        return
      }
      #expect(result.connect == .skipped && result.tls == .skipped && result.remoteAddress == nil)
      #expect(result.failure?.result == .couldntResolveHost)
    }
  }

  @Test(arguments: [(true, .ok), (false, .peerFailedVerification)] as [(Bool, CurlResult)])
  func `certificate is verified`(_ isKnown: Bool, _ expected: CurlResult) async throws {
    let server = try OpenSSLServer(isByHand: true)
    let authority = try CertificateKit.shared().authority
    try await withProbe(trusting: isKnown ? authority : nil) { probe in
      let result = await probe.probe(try CurlURL(server.url()), timeout: .seconds(10))
      #expect(isOK(result.nameLookup) && isOK(result.connect))
      #expect(isKnown ? isOK(result.tls) : hasFailed(result.tls))
      #expect(result.remoteAddress == "127.0.0.1")
      #expect((result.failure?.result ?? .ok) == expected)
    }
  }

  @Test func `server without TLS leads to a timeout`() async throws {
    let silent = Silent()
    try await withProbe { probe in
      let url = try CurlURL("https://127.0.0.1:\(silent.port)/")
      let result = await probe.probe(url, timeout: .milliseconds(300))
      #expect(isOK(result.nameLookup) && isOK(result.connect) && hasFailed(result.tls))
      #expect(result.failure?.result == .operationTimedOut)
    }
  }

  @Test func `forbidden address is not connected to`() async throws {
    let origin = TestOrigin { _, _ in true }
    try await withProbe(allowing: "192.0.2.0/24") { probe in
      let result = await probe.probe(try CurlURL(origin.url + "/"), timeout: .seconds(10))
      #expect(isOK(result.nameLookup) && hasFailed(result.connect))
      #expect(result.failure?.rule == "loopback")
    }
  }

  @Test func `closing the probe ends running attempts`() async throws {
    let silent = Silent()
    try await withProbe { probe in
      let url = try CurlURL("https://127.0.0.1:\(silent.port)/")
      async let result = probe.probe(url, timeout: .seconds(60))
      try await Task.sleep(for: .milliseconds(100))
      await probe.close()
      #expect(await result.failure?.result == .abortedByCallback)
      let later = await probe.probe(url, timeout: .seconds(60))
      #expect(later.nameLookup == .skipped && later.failure?.result == .abortedByCallback)
    }
  }
}

/// A port that accepts connections, by its backlog, and sends nothing.
private final class Silent {
  let port: Int
  private let descriptor: Int32

  init() {
    (descriptor, port) = Self.bind()
    listen(descriptor, 16)
  }
  deinit { close(descriptor) }

  /// Returns a port that no other process uses meanwhile.
  static func bind() -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        _ = Glibc.bind(descriptor, raw, length)
        getsockname(descriptor, raw, &length)
      }
      return Int(in_port_t(bigEndian: pointer.pointee.sin_port))
    }
    return (descriptor, port)
  }
}
