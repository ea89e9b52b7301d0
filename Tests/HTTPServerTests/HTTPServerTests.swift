import EventLoop
import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .blocking) struct HTTPServerTests {
  @Test func `connection serves many requests`() async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let client = try HTTPClient(port: port)
      for number in 0..<50 {
        let reply = try client.send("GET", "/a%20b/\(number)?q=%41")
        #expect(reply.status == 200)
        #expect(reply.text == "GET /a%20b/\(number) q=%41 0 ")
        let posted = try client.send("POST", "/p", Array("hello".utf8))
        #expect(posted.text == "POST /p  5 hello")
      }
    }
  }

  @Test(arguments: [0, 1, 100, 70_000, 3_000_000])
  func `bodies of any size are received`(_ size: Int) async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let reply = try HTTPClient(port: port).send("POST", "/", [UInt8](repeating: 97, count: size))
      #expect(reply.text.hasPrefix("POST /  \(size) "))
    }
  }

  /// The last bytes and the end of the connection arrive together, and libmicrohttpd reports only one of the two events.
  @Test(arguments: [100_000, 300_000, 800_000])
  func `client that disconnects after its bytes is noticed`(_ size: Int) async throws {
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    let handler: HTTPHandler = { request in
      do {
        while try await request.body.next() != nil {}
        end.yield(true)
      } catch {
        end.yield(false)
      }
      return ServerResponse(status: .ok)
    }
    try await ServerHarness.withServer(handler) { port in
      for _ in 0..<5 {
        do {
          let client = try HTTPClient(port: port)
          try client.socket.write("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000\r\n\r\n")
          try client.socket.write([UInt8](repeating: 97, count: size))
        }
        let start = ContinuousClock.now
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next() == false)
        #expect(ContinuousClock.now - start < .seconds(20))
      }
    }
  }

  @Test func `client that closes its side receives the reply`() async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 300000\r\n\r\n")
      try client.socket.write([UInt8](repeating: 97, count: 300_000))
      client.socket.shutdownWrites()
      #expect(try client.readReply().text.hasPrefix("POST /  300000 "))
    }
  }

  @Test func `chunked body is received`() async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\n yo\r\n0\r\n\r\n"
      )
      #expect(try client.readReply().text == "POST /  8 hello")
    }
  }

  @Test func `oversized body is refused before it is sent`() async throws {
    let refuse: HTTPHandler = { request in
      do {
        _ = try await request.body.collect(upTo: 1000)
        return ServerResponse(status: .ok)
      } catch {
        return ServerResponse(status: .contentTooLarge)
      }
    }
    try await ServerHarness.withServer(refuse) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\n")
      #expect(try client.readReply().status == 413)
    }
  }

  @Test func slowHeadIsRefused() async throws {
    var limits = HTTPServer.Limits()
    limits.headSeconds = 1
    try await ServerHarness.withServer(limits: limits, ServerHarness.echo) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write("GET / HTTP/1.1\r\nHo")
      client.socket.setTimeout(seconds: 60)
      #expect(try client.readReply().status == 408)
      #expect(try client.socket.readSome() == nil)
    }
  }

  /// A source that returns its chunks one by one, each after a wake-up from another thread.
  private final class Dripping: ResponseSource {
    private struct State {
      var left: Int
      var hasOne = true
      var isClosed = false
    }
    private let state: Mutex<State>
    private let pool = ThreadPool(name: "test-drip", threads: 1)
    let closed: @Sendable () -> Void
    let endless: Bool
    init(_ count: Int, endless: Bool = false, closed: @escaping @Sendable () -> Void = {}) {
      state = Mutex(State(left: count))
      self.closed = closed
      self.endless = endless
    }
    private let waker = Mutex<ResponseWaker?>(nil)
    func attach(_ waker: ResponseWaker) { self.waker.withLock { $0 = waker } }
    func read(maximum: Int) -> ResponseChunk {
      state.withLock { state in
        if state.left == 0 { return endless ? .wait : .end }
        guard state.hasOne else {
          state.hasOne = true
          pool.submit { self.waker.withLock { $0 }?.wake() }
          return .wait
        }
        state.hasOne = false
        state.left -= 1
        return .bytes(Array("chunk".utf8))
      }
    }
    func close() {
      pool.stop()
      closed()
    }
  }

  @Test func `source is read after each wake`() async throws {
    let handler: HTTPHandler = { request in
      let length: Int64? = request.path == "/known" ? 500 : nil
      return ServerResponse(status: .ok, body: .source(Dripping(100), length: length))
    }
    try await ServerHarness.withServer(handler) { port in
      let client = try HTTPClient(port: port)
      for path in ["/known", "/chunked", "/known"] {
        #expect(try client.send("GET", path).text == String(repeating: "chunk", count: 100))
      }
    }
  }

  @Test func `client that leaves a silent stream is noticed`() async throws {
    let closed = AsyncStream.makeStream(of: Void.self)
    let handler: HTTPHandler = { _ in
      ServerResponse(
        status: .ok, body: .source(Dripping(1, endless: true) { closed.continuation.yield() }, length: nil))
    }
    try await ServerHarness.withServer(handler) { port in
      var client: HTTPClient? = try HTTPClient(port: port)
      try client?.socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      #expect(try client?.readHead().status == 200)
      #expect(try client?.readChunk() == Array("chunk".utf8))
      client = nil
      var left = closed.stream.makeAsyncIterator()
      #expect(await left.next() != nil)
    }
  }

  @Test func `slow handlers do not delay other requests`() async throws {
    let gate = AsyncStream.makeStream(of: Void.self)
    let handler: HTTPHandler = { request in
      if request.path == "/held" {
        var iterator = gate.stream.makeAsyncIterator()
        _ = await iterator.next()
      }
      return ServerResponse(status: .ok, body: .bytes(Array("ok".utf8)))
    }
    try await ServerHarness.withServer(handler) { port in
      let held = try HTTPClient(port: port)
      try held.socket.write("GET /held HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      let client = try HTTPClient(port: port)
      for _ in 0..<200 { #expect(try client.send("GET", "/").text == "ok") }
      gate.continuation.yield()
      #expect(try held.readReply().text == "ok")
    }
  }

  @Test func `port in use is an error`() async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      #expect(throws: HTTPServer.Failure.self) {
        _ = try HTTPServer(
          loop: EventLoop(name: "x"), host: "127.0.0.1", port: port, handler: ServerHarness.echo)
      }
    }
  }
}
