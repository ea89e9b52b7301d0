import JSON
import TestSupport
import Testing

/// Suspended transfers. URLSession on Linux repeats the request and appends the result. A body of 104,857,600 bytes
/// becomes 125,829,120 bytes with two responses, and a timeout fires during the suspension.
@Suite(.serialized, .blocking, .sharing) struct SuspensionTests {
  private let place: InProcessAPI
  private let gate: Gate
  private let origin: TestOrigin
  private static let piece = 400_000
  private static let pieces = 6
  private static let body = NginxServer.contents(piece * pieces)

  init() throws {
    place = try .ofSuite()
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin { request, socket in
      if request.path == "/silent" { return try socket.readSome() != nil }
      if request.path == "/late" { gate.wait() }
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: \(Self.body.count)\r\n\r\n")
      for step in 0..<Self.pieces {
        if request.path == "/steps", step > 0 { gate.wait() }
        try socket.write(Array(Self.body[step * Self.piece..<(step + 1) * Self.piece]))
      }
      return true
    }
  }

  /// Waits until this number of bytes has been received.
  private func wait(for count: Int, of id: String) throws {
    let task = try place.poll("/v1/tasks/\(id)") {
      Int($0["progress"]?["countOfBytesReceived"]?.integer ?? 0) >= count
    }
    #expect(Int(task["progress"]?["countOfBytesReceived"]?.integer ?? 0) >= count)
  }

  /// Waits for a timeout of `seconds`, measured by the service's clock.
  private func pass(_ seconds: Double) throws {
    #expect(
      try place.run(origin.url + "/silent", request: #","timeoutInterval":\#(seconds)"#).errorCode == -1001)
  }

  @Test(arguments: ["data", "download"]) func `suspended transfer continues`(_ kind: String) throws {
    let id = try place.create(origin.url + "/steps", kind: kind)
    for step in 1..<Self.pieces {
      try wait(for: step * Self.piece, of: id)
      #expect(try place.act("suspend", id) == "suspended")
      #expect(try place.task(id)["phase"] == .null)
      try place.waitForEarlierCommands(origin.url + "/settled")
      gate.open()
      #expect(try place.act("resume", id) == "running")
      if step < Self.pieces - 1 { #expect(try place.task(id)["phase"]?.string == "transferring") }
    }
    let story = try place.story(of: id)
    #expect(story.filter { $0.type == "dataTask.didReceiveResponse" }.count == (kind == "data" ? 1 : 0))
    let task = try place.task(id)
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == Int64(Self.body.count))
    #expect(task["progress"]?["fractionCompleted"]?.double == 1)
    #expect(try place.call("GET", "/v1/tasks/\(id)/body").body == Self.body)
    #expect(origin.requests.filter { $0.path == "/steps" }.count == 1)
    #expect(try place.metrics(of: id)["transactionMetrics"]?.elements?.count == 1)
  }

  /// Back-pressure stops the origin, and no byte is lost.
  @Test func `origin that keeps sending is held back`() throws {
    let id = try place.create(origin.url + "/late", kind: "download")
    _ = try place.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "transferring" }
    #expect(try place.act("suspend", id) == "suspended")
    try place.waitForEarlierCommands(origin.url + "/settled")
    gate.open()
    try pass(0.3)
    let held = try place.task(id)
    #expect(held["state"]?.string == "suspended" && held["body"] == .null)
    #expect((held["progress"]?["countOfBytesReceived"]?.integer ?? 0) < Int64(Self.body.count))
    #expect(try place.act("resume", id) == "running")
    #expect(try place.end(of: id)["error"] == .null)
    #expect(try place.call("GET", "/v1/tasks/\(id)/body").body == Self.body)
    #expect(origin.requests.filter { $0.path == "/late" }.count == 1)
  }

  /// A suspended task has neither a request timeout nor a resource timeout.
  @Test(arguments: [("/steps", 1), ("/late", 0)]) func `timeouts stop during suspension`(
    _ path: String, _ pieces: Int
  ) throws {
    let session = try place.session(#"{"timeoutIntervalForResource":2}"#)
    let id = try place.create(
      origin.url + path, kind: "download", session: session, request: #","timeoutInterval":1.5"#)
    _ = try place.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "transferring" }
    try wait(for: pieces * Self.piece, of: id)
    #expect(try place.act("suspend", id) == "suspended")
    try pass(2.5)
    #expect(try place.task(id)["state"]?.string == "suspended")
    for _ in 0..<Self.pieces { gate.open() }
    #expect(try place.act("resume", id) == "running")
    let task = try place.end(of: id)
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == Int64(Self.body.count))
  }

  /// A queued task that is suspended loses its position. On resume it joins the end of the queue.
  @Test func `task suspended in the queue lets others pass`() throws {
    let session = try place.session(#"{"httpMaximumConnectionsPerHost":1}"#)
    let first = try place.create(origin.url + "/late", session: session)
    _ = try place.poll("/v1/tasks/\(first)") { $0["phase"]?.string == "transferring" }
    let held = try place.create(origin.url + "/held", session: session)
    #expect(try place.act("suspend", held) == "suspended")
    let last = try place.create(origin.url + "/last", session: session)
    try place.waitForEarlierCommands(origin.url + "/settled")
    gate.open()
    for id in [first, last] { #expect(try place.end(of: id)["error"] == .null) }
    #expect(try place.task(held)["state"]?.string == "suspended")
    #expect(origin.requests.map(\.path).filter { $0 != "/settled" } == ["/late", "/last"])
    #expect(try place.act("resume", held) == "running")
    #expect(try place.end(of: held)["error"] == .null)
  }
}
