import EventLoop
import FerryClient
import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@Suite(.blocking, .endsInTime) struct ServiceConnectionTests {
  /// Serves `handler` during `body`.
  private func serve(
    _ handler: @escaping HTTPHandler, token: String? = nil, prefix: String = "",
    _ body: (ServiceConnection) async throws -> Void
  ) async throws {
    let loop = EventLoop(name: "test-service")
    loop.start()
    let server = try HTTPServer(loop: loop, host: "127.0.0.1", port: 0, handler: handler)
    try await server.start()
    let connection = ServiceConnection(
      try ServiceAddress("http://127.0.0.1:\(server.port)\(prefix)", token: token))
    let result: Result<Void, any Error>
    do { result = .success(try await body(connection)) } catch { result = .failure(error) }
    await connection.close()
    await server.drain(grace: .zero)
    await server.stop()
    await loop.stopAndJoin()
    try result.get()
  }

  private static let echo: HTTPHandler = { request in
    let body = (try? await request.body.collect(upTo: 64 << 20)) ?? []
    let authorization = request.head.headerFields[.authorization] ?? "none"
    let text =
      "\(request.head.method.rawValue) \(request.path) \(request.query) \(body.count) \(authorization)"
    return ServerResponse(
      status: .ok, fields: [.contentType: "text/plain"], body: .bytes(Array(text.utf8)))
  }

  @Test func `request has the prefix and the query and the token`() async throws {
    try await serve(Self.echo, token: "secret", prefix: "/ferry") { connection in
      let reply = try await connection.send(ServiceRequest("GET", "/v1/tasks", query: [("a", "b c")]))
      #expect(String(decoding: reply.bytes, as: UTF8.self) == "GET /ferry/v1/tasks a=b%20c 0 Bearer secret")
      #expect(reply.head["content-type"] == "text/plain" && reply.status == 200)
      let post = try await connection.send(ServiceRequest("POST", "/v1", json: Array("{}".utf8)))
      #expect(String(decoding: post.bytes, as: UTF8.self) == "POST /ferry/v1  2 Bearer secret")
    }
  }

  @Test func `body of a producer arrives whole`() async throws {
    try await serve(Self.echo) { connection in
      let left = Mutex(40)
      let produce: @Sendable () async throws -> [UInt8]? = {
        let isDone = left.withLock { left in
          defer { left -= 1 }
          return left == 0
        }
        return isDone ? nil : [UInt8](repeating: 7, count: 100_000)
      }
      for length in [4_000_000 as Int64?, nil] {
        left.withLock { $0 = 40 }
        let request = ServiceRequest("PUT", "/f", body: .producer(length: length, next: produce))
        let reply = try await connection.send(request)
        #expect(String(decoding: reply.bytes, as: UTF8.self) == "PUT /f  4000000 none")
      }
    }
  }

  @Test func `producer that fails ends the request`() async throws {
    struct Fault: Error, CustomStringConvertible { let description = "disk error" }
    try await serve(Self.echo) { connection in
      let request = ServiceRequest("PUT", "/f", body: .producer(length: 5) { throw Fault() })
      await #expect(throws: ServiceError.unreadableBody("disk error")) { try await connection.send(request) }
    }
  }

  @Test func `problem has its fields`() async throws {
    let json =
      #"{"type":"/problems/a","title":"Bad","detail":"d","errors":[{"pointer":"/x","detail":"is bad"}]}"#
    try await serve { _ in
      ServerResponse(
        status: .tooManyRequests, fields: [.retryAfter: "7"], body: .bytes(Array(json.utf8)))
    } _: { connection in
      let error = await #expect(throws: ServiceError.self) { try await connection.send(.init("GET", "/")) }
      guard case .problem(let problem) = error else {
        Issue.record("\(error as Any)")
        return
      }
      #expect(problem.status == 429 && problem.type == "/problems/a" && problem.retryAfter == 7)
      #expect(problem.description == "Bad: /x is bad (429)")
    }
  }

  @Test func `closed port is unreachable`() async throws {
    let connection = ServiceConnection(try ServiceAddress("http://127.0.0.1:1"))
    let error = await #expect(throws: ServiceError.self) { try await connection.send(.init("GET", "/")) }
    guard case .unreachable = error else {
      Issue.record("\(error as Any)")
      return
    }
    await connection.close()
  }

  @Test func `reply beyond the limit is refused`() async throws {
    try await serve { _ in
      ServerResponse(status: .ok, body: .bytes(Array(repeating: 1, count: 2000)))
    } _: {
      connection in
      var request = ServiceRequest("GET", "/")
      request.maximumReply = 1999
      let error = await #expect(throws: ServiceError.self) { try await connection.send(request) }
      #expect(error == .invalidReply("the reply exceeds 1999 bytes"))
    }
  }

  @Test func `reply that is late times out`() async throws {
    let origin = TestOrigin { _, socket in
      _ = try socket.readSome()
      return true
    }
    let connection = ServiceConnection(try ServiceAddress(origin.url))
    var request = ServiceRequest("GET", "/")
    request.timeout = .milliseconds(20)
    let error = await #expect(throws: ServiceError.self) { try await connection.send(request) }
    guard case .timedOut = error else {
      Issue.record("\(error as Any)")
      return
    }
    await connection.close()
  }

  /// A source of bytes that counts how much the server has read.
  private final class Source: ResponseSource {
    private let left: Mutex<Int>
    init(_ size: Int) { left = Mutex(size) }
    var rest: Int { left.withLock { $0 } }
    func attach(_ waker: ResponseWaker) { waker.wake() }
    func read(maximum: Int) -> ResponseChunk {
      left.withLock { left in
        guard left > 0 else { return .end }
        let count = min(left, maximum)
        left -= count
        return .bytes(Array(repeating: 3, count: count))
      }
    }
    func close() {}
  }

  @Test func `stream that is read slowly is complete and holds the service up`() async throws {
    let source = Source(64 << 20)
    try await serve { _ in
      ServerResponse(status: .ok, body: .source(source, length: nil))
    } _: { connection in
      let stream = try await connection.stream(ServiceRequest("GET", "/"))
      var count = try await stream.next()?.count ?? 0
      // Other requests on the same thread are answered while the stream is held.
      await #expect(throws: Never.self) {
        let other = try await connection.stream(ServiceRequest("GET", "/"))
        other.cancel()
      }
      #expect(source.rest > 0)
      while let bytes = try await stream.next() { count += bytes.count }
      #expect(source.rest == 0 && count > 0)
    }
  }

  @Test func `cancelled reader of a stream is resumed`() async throws {
    let origin = TestOrigin { _, socket in
      try socket.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab".utf8))
      _ = try socket.readSome()
      return true
    }
    let connection = ServiceConnection(try ServiceAddress(origin.url))
    let stream = try await connection.stream(ServiceRequest("GET", "/"))
    #expect(try await stream.next() == Array("ab".utf8))
    let reader = Task { () -> ServiceError? in
      do throws(ServiceError) {
        _ = try await stream.next()
        return nil
      } catch {
        return error
      }
    }
    reader.cancel()
    #expect(await reader.value == .cancelled)
    await connection.close()
  }
}
