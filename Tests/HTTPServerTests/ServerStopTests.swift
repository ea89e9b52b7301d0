import EventLoop
import HTTPServer
import HTTPTypes
import TestSupport
import Testing

/// A server that is stopped closes unfinished connections. libmicrohttpd ends the process if one of them is suspended then.
@Suite(.serialized, .blocking) struct ServerStopTests {
  private static let host = "Host: 127.0.0.1\r\n"
  private static let get = "GET / HTTP/1.1\r\n\(host)\r\n"

  /// A source that never has bytes.
  private final class Silence: ResponseSource {
    func attach(_ waker: ResponseWaker) {}
    func read(maximum: Int) -> ResponseChunk { .wait }
    func close() {}
  }

  /// Reads bodies at `/read` only, and holds all requests but `/` and `/stream`.
  private static func handler(_ held: AsyncStream<Void>) -> HTTPHandler {
    { request in
      switch request.path {
      case "/": return ServerResponse(status: .ok)
      case "/stream": return ServerResponse(status: .ok, body: .source(Silence(), length: nil))
      case "/read": while let bytes = try? await request.body.next(), !bytes.isEmpty {}
      case "/begin": _ = try? await request.body.next()
      default: break
      }
      for await _ in held { break }
      return ServerResponse(status: .ok)
    }
  }

  /// The bytes that clients have sent by then, and whether they close their side afterwards.
  private static let requests: [(text: String, ends: Bool)] = [
    ("", false), ("GET / HT", false), ("GET / HTTP/1.1\r\n\(host)", false),
    ("GET /held HTTP/1.1\r\n\(host)\r\n", false), ("GET /held HTTP/1.1\r\n\(host)\r\n", true),
    ("GET /held HTTP/1.1\r\n\(host)\r\n" + get, false),
    ("GET /stream HTTP/1.1\r\n\(host)\r\n", false), ("GET /stream HTTP/1.1\r\n\(host)\r\n" + get, false),
    ("POST /held HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\nhe", false),
    ("POST /read HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\nhe", false),
    ("POST /read HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\nhello", true),
    ("POST /read HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n5;a", false),
    (
      "POST /begin HTTP/1.1\r\n\(host)Content-Length: 1000000\r\n\r\n"
        + String(repeating: "x", count: 600_000),
      false
    ),
  ]

  /// Stops the server at various moments.
  /// - Parameter moment: the time in milliseconds; with 0 the server may not have read the bytes yet.
  @Test(arguments: [0, 50, 200]) func `stop closes unfinished connections`(_ moment: Int32) async throws {
    let (held, release) = AsyncStream.makeStream(of: Void.self)
    for _ in 0..<10 {
      let loop = EventLoop(name: "test-http")
      loop.start()
      let server = try HTTPServer(loop: loop, host: "127.0.0.1", port: 0, handler: Self.handler(held))
      try await server.start()
      let sockets = try Self.requests.map { request in
        let socket = try Socket(connectingTo: server.port)
        try socket.write(request.text)
        if request.ends { socket.shutdownWrites() }
        return socket
      }
      #expect(!sockets[0].hasBytes(within: moment))
      await server.stop()
      for socket in sockets { while let bytes = try? socket.readSome(), !bytes.isEmpty {} }
      loop.stop()
    }
    release.finish()
  }

  /// The request has arrived, but has not been read.
  @Test func `request that arrives during the stop is not started`() async throws {
    let (held, release) = AsyncStream.makeStream(of: Void.self)
    let loop = EventLoop(name: "test-http")
    loop.start()
    let server = try HTTPServer(loop: loop, host: "127.0.0.1", port: 0, handler: Self.handler(held))
    try await server.start()
    let client = try HTTPClient(port: server.port)
    #expect(try client.send("GET", "/").status == 200)
    let (isHeld, mayGoOn) = (Gate(), Gate())
    loop.perform {
      isHeld.open()
      mayGoOn.wait()
    }
    isHeld.wait()
    try client.socket.write("GET /held HTTP/1.1\r\n\(Self.host)\r\n")
    let stop = Task.immediate { await server.stop() }
    mayGoOn.open()
    await stop.value
    #expect(((try? client.socket.readSome()) ?? nil) == nil)
    loop.stop()
    release.finish()
  }
}
