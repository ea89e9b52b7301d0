import Curl
import EventLoop
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .blocking) struct MultiHandleTests {
  /// Runs transfers on a loop. All members are used on the loop's thread.
  private final class Driver: EasyHandleDelegate, @unchecked Sendable {
    struct Result: Sendable {
      var code = CurlResult.ok
      var status = 0
      var head = ""
      var body: [UInt8] = []
      var reused = false
      var handle: ObjectIdentifier?
    }
    private let loop: EventLoop
    private var transport: CurlTransport?
    private var easy: EasyHandle?
    private let handles = EasyHandlePool(maximumIdle: 4)
    /// Kept, so that no new handle gets the address of a freed one.
    private var used: [EasyHandle] = []
    private var result = Result()
    private var done: ((Result) -> Void)?
    var permits = true
    var pausesOnce = false
    var refusesBody = false

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
        let easy = try handles.dequeue()
        self.easy = easy
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
      result.handle = ObjectIdentifier(completion.easy)
      used.append(completion.easy)
      easy = nil
      if result.code == .ok { handles.enqueue(completion.easy) }
      done?(result)
    }

    func close() async {
      await OnLoop(loop).run { self.transport?.close() }
      loop.stop()
    }

    func didReceiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
      result.head += String(decoding: line, as: UTF8.self)
      return true
    }
    func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
      if pausesOnce {
        pausesOnce = false
        loop.schedule(at: .now + .milliseconds(20)) { [unowned self] in
          if let easy { transport?.setPaused(easy, []) }
        }
        return .paused
      }
      guard !refusesBody else { return .refused }
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

  @Test func `connection is reused`() async {
    let origin = origin()
    let driver = Driver()
    let first = await driver.get(origin.url + "/10")
    #expect(first.code == .ok && first.status == 200 && first.body.count == 10 && !first.reused)
    #expect(first.head.contains("X-Seen: yes\r\n"))
    let second = await driver.get(origin.url + "/2000000")
    #expect(second.body.count == 2_000_000 && second.reused)
    await driver.close()
  }

  @Test func `handle is reused if libcurl cleans it`() async {
    let origin = origin()
    let driver = Driver()
    var handles = Set<ObjectIdentifier?>()
    for _ in 0..<10 { handles.insert(await driver.get(origin.url + "/10").handle) }
    #expect(handles.count == (CurlVersion.loaded.cleansHandles ? 1 : 10))
    await driver.close()
  }

  @Test func `body is sent`() async {
    let origin = origin()
    let driver = Driver()
    let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
    #expect(await driver.get(origin.url + "/", body: body).body == body)
    #expect(await driver.get(origin.url + "/", body: []).body == [])
    await driver.close()
  }

  @Test func `paused body is offered again`() async {
    let origin = origin()
    let driver = Driver()
    driver.pausesOnce = true
    #expect(await driver.get(origin.url + "/300000").body.count == 300_000)
    await driver.close()
  }

  /// libcurl reports this refusal as a result of curl_easy_pause only, and no longer watches the socket.
  @Test func `body refused at the end of a pause ends the transfer`() async {
    let origin = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nten bytes.")
      _ = try? socket.readSome()
      return false
    }
    let driver = Driver()
    (driver.pausesOnce, driver.refusesBody) = (true, true)
    let result = await driver.get(origin.url + "/")
    #expect(result.code == .writeError && result.status == 200 && result.body == [])
    await driver.close()
  }

  /// A response whose first field begins with a blank made libcurl free memory twice if the handle had been used before (curl #11103).
  @Test func `folded first field does no harm`() async {
    await #expect(processExitsWith: .success) {
      let origin = TestOrigin { request, socket in
        let isFolded = request.path == "/folded"
        try socket.write(
          isFolded
            ? Array("HTTP/1.1 200 OK\r\n f: f\r\nContent-Length: 2\r\n\r\nok".utf8)
            : TestOrigin.reply("200 OK", Array("well".utf8), [("X-A", "b")]))
        return true
      }
      let driver = Driver()
      for _ in 0..<30 {
        #expect(await driver.get(origin.url + "/").body == Array("well".utf8))
        // Depending on its version, libcurl refuses the response or ignores the blank.
        let folded = await driver.get(origin.url + "/folded")
        #expect(folded.code == .badFunctionArgument || folded.body == Array("ok".utf8))
      }
      await driver.close()
    }
  }

  @Test func `refused address is never connected to`() async {
    let origin = origin()
    let driver = Driver()
    driver.permits = false
    #expect(await driver.get(origin.url + "/1").code == .couldntConnect)
    #expect(origin.requests.isEmpty)
    await driver.close()
  }
}
