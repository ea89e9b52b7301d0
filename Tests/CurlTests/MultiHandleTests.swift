import Curl
import EventLoop
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .blocking) struct MultiHandleTests {
  /// Drives transfers on a loop; everything but `results` stays on the loop's thread.
  private final class Driver: EasyHandleDelegate, @unchecked Sendable {
    struct Result: Sendable {
      var code = CurlResult.ok
      var status = 0
      var head = ""
      var body: [UInt8] = []
      var reused = false
    }
    private let loop: EventLoop
    private var transport: CurlTransport?
    private var easy: EasyHandle?
    private var result = Result()
    private var done: ((Result) -> Void)?
    var permits = true
    var pausesOnce = false

    init() {
      loop = EventLoop(name: "test-curl")
      loop.start()
    }

    func get(_ url: String, body: [UInt8]? = nil) async -> Result {
      await withCheckedContinuation { continuation in
        let executor = OnLoop(loop)
        Task { await executor.run { self.start(url, body) { continuation.resume(returning: $0) } } }
      }
    }

    private func start(_ url: String, _ body: [UInt8]?, _ done: @escaping (Result) -> Void) {
      self.done = done
      result = Result()
      do {
        let transport =
          try transport ?? CurlTransport(loop: loop, multiplexing: false, maximumIdleConnections: 4)
        self.transport = transport
        transport.onCompletion = { [unowned self] in finish($0) }
        let easy = try easy ?? EasyHandle()
        self.easy = easy
        easy.reset()
        try easy.set(.url, to: url)
        try easy.set(.noSignal, to: 1)
        if let body {
          try easy.set(.post, to: 1)
          try easy.setBody(body)
        }
        try easy.setHeaders(["X-Test: yes", "Expect:"])
        try easy.setCallbacks(self, in: transport.multi)
        try transport.add(easy)
      } catch {
        done(Result(code: CurlResult(code: -1)))
      }
    }

    private func finish(_ completion: MultiHandle.Completion) {
      result.code = completion.result
      result.status = completion.easy.info(.responseCode)
      result.reused = completion.easy.info(.connectionsMade) == 0
      done?(result)
    }

    func close() async {
      await OnLoop(loop).run { self.transport?.close() }
      loop.stop()
    }

    func didReceiveHeader(_ line: UnsafeRawBufferPointer) {
      result.head += String(decoding: line, as: UTF8.self)
    }
    func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
      if pausesOnce {
        pausesOnce = false
        loop.schedule(at: .now + .milliseconds(20)) { [unowned self] in
          if let easy { transport?.setPaused(easy, []) }
        }
        return .paused
      }
      result.body += bytes
      return .accepted
    }
    func mayConnect(to address: PeerAddress) -> SocketPermission {
      #expect(address == .v4(0x7F00_0001))
      return permits ? .granted : .refused
    }
    func maySendRequest(toAddress address: String) -> Bool { address == "127.0.0.1" }
  }

  private actor OnLoop {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    init(_ loop: EventLoop) { self.loop = loop }
    func run(_ body: @Sendable () -> Void) { body() }
  }

  private func origin() -> TestOrigin {
    TestOrigin { request, socket in
      let size = Int(request.path.split(separator: "/").last ?? "") ?? 0
      let body = request.method == "POST" ? request.body : [UInt8](repeating: 120, count: size)
      try socket.write(TestOrigin.reply("200 OK", body, [("X-Seen", request["X-Test"] ?? "no")]))
      return true
    }
  }

  @Test func fetchesAndReusesItsConnection() async {
    let origin = origin()
    let driver = Driver()
    let first = await driver.get(origin.url + "/10")
    #expect(first.code == .ok && first.status == 200 && first.body.count == 10 && !first.reused)
    #expect(first.head.contains("X-Seen: yes\r\n"))
    let second = await driver.get(origin.url + "/2000000")
    #expect(second.body.count == 2_000_000 && second.reused)
    await driver.close()
  }

  @Test func sendsABody() async {
    let origin = origin()
    let driver = Driver()
    let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
    #expect(await driver.get(origin.url + "/", body: body).body == body)
    #expect(await driver.get(origin.url + "/", body: []).body == [])
    await driver.close()
  }

  @Test func pausedBodyIsOfferedAgain() async {
    let origin = origin()
    let driver = Driver()
    driver.pausesOnce = true
    #expect(await driver.get(origin.url + "/300000").body.count == 300_000)
    await driver.close()
  }

  @Test func refusedAddressIsNeverConnectedTo() async {
    let origin = origin()
    let driver = Driver()
    driver.permits = false
    #expect(await driver.get(origin.url + "/1").code == .couldntConnect)
    #expect(origin.requests.isEmpty)
    await driver.close()
  }
}
