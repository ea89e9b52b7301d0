import JSON
import TestSupport
import Testing

/// The ways in which HTTP/2 streams end: unprocessed, answered early, or lost.
@Suite(.serialized, .blocking, .sharing) struct HTTP2StreamTests {
  /// The source of a request's body.
  enum Shape: String, CaseIterable, Sendable { case nothing, text, file, stream, chunkedStream }

  private let ferry: FerryProcess
  private static let needsBody = "task.needNewBodyStream"

  init() throws { ferry = try .ofSuite(trustsAuthority: true) }

  /// Runs a task, and sends the body of a stream at each request for it.
  /// - Returns: The task at its end, and the number of requests for its body.
  private func run(
    _ shape: Shape, _ origin: HTTP2Origin, in session: String, method: String = "POST", size: Int = 300_000
  ) throws -> (task: JSONValue, bodies: Int) {
    let body: String? =
      switch shape {
      case .nothing: nil
      case .text: #"{"text":"\#(String(repeating: "a", count: size))"}"#
      case .file: #"{"file":"\#(try ferry.store(Pattern.bytes(size)))"}"#
      case .stream, .chunkedStream: #"{"stream":true}"#
      }
    let id = try ferry.create(
      origin.url(), kind: shape == .nothing || shape == .text ? "data" : "upload", session: session,
      request: #","method":"\#(method)""# + (body.map { #","body":\#($0)"# } ?? ""))
    let events = try ferry.events("/v1/tasks/\(id)/events?after=0&types=\(Self.needsBody),task.didComplete")
    var bodies = 0
    while let event = try events.next(), event.type == Self.needsBody {
      bodies += 1
      let reply = try ferry.put(Pattern.bytes(size), to: id, isChunked: shape == .chunkedStream)
      #expect([204, 409].contains(reply.status))
    }
    return (try ferry.task(id), bodies)
  }

  private func body(of task: JSONValue) throws -> String {
    try ferry.call("GET", "/v1/tasks/\(task.id)/body").text
  }

  private func actions(_ origin: HTTP2Origin) -> [String] {
    origin.requests.compactMap { $0.split(separator: " ").dropFirst(2).first.map(String.init) }
  }

  // MARK: Unprocessed requests

  /// RFC 9113 §6.8 and §8.7: the request is sent again on another connection, whatever its method.
  @Test(arguments: ["goaway", "goaway-error", "refuse"], Shape.allCases)
  func `unprocessed request is sent again`(_ action: String, _ shape: Shape) throws {
    for before in [[], ["answer"]] {
      let origin = try HTTP2Origin(before + [action, action, "answer"])
      let session = try ferry.session(FerryProcess.uncached, delegate: "{}")
      for _ in before { _ = try run(.nothing, origin, in: session, method: "GET") }
      let (task, bodies) = try run(shape, origin, in: session)
      #expect(task["error"] == .null && task.status == 200, "\(task.text)")
      #expect(try body(of: task) == (shape == .nothing ? "0" : "300000"))
      #expect(actions(origin) == before + [action, action, "answer"])
      let isStream = shape == .stream || shape == .chunkedStream
      #expect(isStream ? (1...3).contains(bodies) : bodies == 0)
      let connections = origin.requests.compactMap { $0.split(separator: " ").first }
      #expect(Set(connections.suffix(3)).count == 3)
    }
  }

  @Test(arguments: ["goaway", "refuse"], [Shape.nothing, .text, .stream])
  func `unprocessed request is sent at most six times`(_ action: String, _ shape: Shape) throws {
    let origin = try HTTP2Origin([action])
    let (task, _) = try run(shape, origin, in: ferry.session(delegate: "{}"))
    #expect(task.errorCode == -1005, "\(task.text)")
    #expect(actions(origin) == Array(repeating: action, count: 6))
  }

  /// The unprocessed requests share one connection.
  @Test(arguments: ["goaway", "refuse"]) func `unprocessed concurrent requests are sent again`(
    _ action: String
  ) throws {
    let origin = try HTTP2Origin(["answer", action, "answer"])
    let session = try ferry.session(#"{"urlCache":null,"httpShouldUsePipelining":true}"#)
    _ = try run(.nothing, origin, in: session, method: "GET")
    let request = #"{"url":"\#(origin.url())","method":"POST","body":{"text":"sent"}}"#
    let line = #"{"kind":"data","resume":true,"request":\#(request)}"# + "\n"
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks", String(repeating: line, count: 10),
      [("Content-Type", "application/x-ndjson")])
    for task in reply.lines {
      let end = try ferry.end(of: task.id)
      #expect(end["error"] == .null && end.status == 200, "\(end.text)")
    }
    #expect(actions(origin).count { $0 == "answer" } == 11)
  }

  /// A request that may have been processed is sent again only if it is idempotent.
  @Test(arguments: [
    ("GET", Shape.nothing, true), ("PUT", .file, true), ("PUT", .stream, true), ("POST", .file, false),
    ("POST", .stream, false),
  ])
  func `lost kept connection repeats idempotent requests`(
    _ method: String, _ shape: Shape, _ isRepeated: Bool
  ) throws {
    let origin = try HTTP2Origin(["answer", "close", "answer"])
    let session = try ferry.session(FerryProcess.uncached, delegate: "{}")
    _ = try run(.nothing, origin, in: session, method: "GET")
    let (task, _) = try run(shape, origin, in: session, method: method)
    #expect(task.errorCode == (isRepeated ? nil : -1005), "\(task.text)")
    #expect(actions(origin) == ["answer", "close"] + (isRepeated ? ["answer"] : []))
  }

  @Test func `lost new connection repeats no request`() throws {
    let origin = try HTTP2Origin(["close"])
    let (task, _) = try run(.nothing, origin, in: ferry.session(delegate: "{}"), method: "GET")
    #expect(task.errorCode == -1005 && actions(origin) == ["close"])
  }

  // MARK: Early responses

  private static let early = ["413", "302", "200"].flatMap { status in
    ["", "-length", "-bare", "-length-bare"].flatMap { content in
      // After a 200 without a reset, the server may still read the rest of the body.
      (status == "200" ? ["-reset"] : ["-reset", ""]).map { status + content + $0 }
    }
  }

  /// RFC 9113 §8.1: the early response is the result, and none of it is lost.
  @Test(arguments: early, [Shape.text, .file, .stream, .chunkedStream])
  func `early response is the result`(_ action: String, _ shape: Shape) throws {
    let origin = try HTTP2Origin([action])
    let session = try ferry.session(FerryProcess.uncached, delegate: "{}")
    for size in [10, 300_000, 300_000] {
      let (task, bodies) = try run(shape, origin, in: session, size: size)
      #expect(task["error"] == .null && task.status == Int64(action.prefix(3)), "\(size): \(task.text)")
      #expect(try body(of: task) == (action.contains("bare") ? "" : "refused"))
      #expect(bodies <= 1)
    }
    #expect(actions(origin) == Array(repeating: action, count: 3))
  }

  /// The client has sent a part of the body and waits.
  @Test(arguments: ["413", "413-reset", "413-length", "413-bare-reset"], [nil, 300_000])
  func `refusal is the result while the client waits`(_ action: String, _ length: Int?) throws {
    let origin = try HTTP2Origin([action])
    let id = try ferry.create(
      origin.url(), kind: "upload", session: ferry.session(delegate: "{}"),
      request: #","method":"POST","body":{"stream":true}"#)
    let writer = try BodyWriter(ferry, id, length: length)
    try writer.write(Pattern.bytes(100))
    let task = try ferry.end(of: id)
    #expect(task["error"] == .null && task.status == 413, "\(task.text)")
    #expect(try writer.client.readReply().status == 409)
  }

  /// A stream reset with NO_ERROR does not make a partial response complete.
  @Test(arguments: ["413-half-reset", "200-half-reset", "200-length-half-reset"], [Shape.nothing, .file])
  func `partial response is an error`(_ action: String, _ shape: Shape) throws {
    let (task, _) = try run(shape, HTTP2Origin([action]), in: ferry.session(delegate: "{}"))
    #expect(task.errorCode == -1005, "\(task.text)")
  }

  // MARK: Uploads

  @Test(arguments: [0, 16_384, 16_385, 3_000_000], [Shape.file, .stream, .chunkedStream])
  func `upload reaches an origin without HTTP 1`(_ size: Int, _ shape: Shape) throws {
    let (task, _) = try run(shape, HTTP2Origin(["answer"]), in: ferry.session(delegate: "{}"), size: size)
    #expect(task["error"] == .null && task["response"]?["httpVersion"]?.string == "HTTP/2", "\(task.text)")
    #expect(try body(of: task) == "\(size)")
    #expect(task["progress"]?["countOfBytesSent"]?.integer == Int64(size))
  }
}
