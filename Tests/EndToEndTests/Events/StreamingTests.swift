import Glibc
import JSON
import Synchronization
import TestSupport
import Testing

/// Bodies and events while they arrive.
@Suite(.serialized, .blocking, .sharing) struct StreamingTests {
  private let ferry: FerryProcess
  private let gate = Gate()
  private let origin: TestOrigin

  /// Releases the origin step by step.
  private final class Gate: Sendable {
    private let steps = Mutex(0)
    func open() { steps.withLock { $0 += 1 } }
    func wait(for step: Int) { while steps.withLock({ $0 }) < step { usleep(2000) } }
  }

  init() throws {
    ferry = try .ofSuite()
    let gate = gate
    origin = TestOrigin { request, socket in
      let piece = [UInt8](
        repeating: UInt8(ascii: request.path == "/big" ? "b" : "s"),
        count: request.path == "/big" ? 100_000 : 10)
      try socket.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: \(piece.count * 3)\r\n\r\n")
      for step in 0..<3 {
        gate.wait(for: step)
        try socket.write(piece)
      }
      return true
    }
  }

  @Test(arguments: [("/small", 10), ("/big", 100_000)])
  func `data body is read while it arrives`(_ path: String, _ size: Int) throws {
    let body = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)\#(path)"}}"#
    let id = try #require(try ferry.call("POST", "/v1/tasks", body).json["id"]?.string)
    let client = try HTTPClient(port: ferry.port)
    try client.socket.write("GET /v1/tasks/\(id)/body HTTP/1.1\r\nHost: 127.0.0.1:\(ferry.port)\r\n\r\n")
    let head = try client.readHead()
    #expect(head.status == 200 && head["Content-Type"] == "text/x")
    var received = 0
    for step in 1...3 {
      while received < size * step { received += try #require(try client.readChunk()).count }
      #expect(received == size * step)
      gate.open()
    }
    #expect(try client.readChunk() == nil)
    let task = try ferry.poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
    #expect(task["body"]?["size"]?.integer == Int64(size * 3))
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").body.count == size * 3)
  }

  @Test func `download body is not ready before the end`() throws {
    let body = #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/big"}}"#
    let id = try #require(try ferry.call("POST", "/v1/tasks", body).json["id"]?.string)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").status == 409)
    for _ in 1...3 { gate.open() }
    _ = try ferry.poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").body.count == 300_000)
  }

  @Test func `progress events have no number and are not replayed`() throws {
    let session = try ferry.session()
    let events = try ferry.events("/v1/sessions/\(session)/events")
    let body = #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/big"}}"#
    _ = try ferry.call("POST", "/v1/sessions/\(session)/tasks", body)
    let first = try events.read(upTo: "downloadTask.didWriteData")
    #expect(first.last?.id == nil && first.last?.data["totalBytesWritten"]?.integer == 100_000)
    #expect(first.last?.data["totalBytesExpectedToWrite"]?.integer == 300_000)
    for _ in 1...3 { gate.open() }
    #expect(try events.read(upTo: "task.didComplete").last?.data["error"] == .null)
    let replayed = try ferry.events("/v1/sessions/\(session)/events?after=0").read(upTo: "task.didComplete")
    #expect(replayed.allSatisfy { $0.id != nil })
  }

  @Test func `suspended transfer resumes without losing or repeating a byte`() throws {
    let body = #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/big"}}"#
    let id = try #require(try ferry.call("POST", "/v1/tasks", body).json["id"]?.string)
    _ = try ferry.poll("/v1/tasks/\(id)") { ($0["progress"]?["countOfBytesReceived"]?.integer ?? 0) > 0 }
    for step in 0..<2 {
      #expect(try ferry.call("POST", "/v1/tasks/\(id)/suspend").json["state"]?.string == "suspended")
      #expect(try ferry.call("POST", "/v1/tasks/\(id)/suspend").json["state"]?.string == "suspended")
      gate.open()
      #expect(try ferry.call("POST", "/v1/tasks/\(id)/resume").json["state"]?.string == "suspended")
      let state = try ferry.call("POST", "/v1/tasks/\(id)/resume").json["state"]?.string
      #expect(state == "running" || (step == 1 && state == "completed"))
    }
    let task = try ferry.poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
    #expect(task["error"] == .null && task["body"]?["size"]?.integer == 300_000)
    #expect(origin.requests.count == 1)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").body == [UInt8](repeating: 98, count: 300_000))
  }

  @Test func `Last-Event-ID replays the later events`() throws {
    for _ in 1...3 { gate.open() }
    let session = try ferry.session()
    for _ in 0..<3 { _ = try ferry.run(origin.url + "/small", session: session) }
    let path = "/v1/sessions/\(session)/events"
    let all = try ferry.events(path + "?after=0&types=task.didComplete")
    let ids = try (0..<3).map { _ in try #require(try all.next()?.id) }
    let rest = try ferry.events(path + "?after=0&types=task.didComplete", [("Last-Event-ID", "\(ids[0])")])
    #expect(try [rest.next()?.id, rest.next()?.id] == [ids[1], ids[2]])
    let reset = try ferry.events(path, [("Last-Event-ID", "999999999")])
    #expect(try reset.next()?.type == "events.didReset")
    #expect(try ferry.call("GET", path + "?types=nonsense").status == 400)
    #expect(try ferry.call("GET", path + "?after=x").status == 400)
  }
}
