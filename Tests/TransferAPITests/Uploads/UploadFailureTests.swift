import JSON
import TestSupport
import Testing

/// Uploads with a missing file, or with an origin that refuses or breaks off.
@Suite(.serialized, .blocking, .sharing) struct UploadFailureTests {
  private let place: InProcessAPI
  private let gate: Gate
  private let origin: TestOrigin
  private static let size = 24_000_000

  init() throws {
    place = try .ofSuite()
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin(readsBodies: false) { request, socket in
      switch request.path {
      case "/refuse":
        try socket.write(
          "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
        socket.shutdownWrites()
        while try socket.readSome() != nil {}
        return false
      case "/reset":
        _ = try socket.read(exactly: 100_000)
        socket.resetOnClose()
        return false
      case "/leave": return try socket.read(exactly: 100_000).isEmpty
      case "/gated":
        var offset = 0
        var isExact = true
        try TestOrigin.read(bodyOf: request, from: socket) { piece in
          if offset == 0 { gate.wait() }
          isExact = isExact && piece == Pattern.bytes(piece.count, from: offset)
          offset += piece.count
        }
        try socket.write(TestOrigin.reply(isExact && offset == Self.size ? "200 OK" : "400 Bad Request"))
      default:
        _ = try TestOrigin.read(bodyOf: request, from: socket)
        try socket.write(TestOrigin.reply("200 OK"))
      }
      return true
    }
  }

  private func body(of size: Int = Self.size) throws -> String {
    #","method":"PUT","body":{"file":"\#(try place.store(Pattern.bytes(size)))"}"#
  }

  @Test(arguments: ["fil_01890a5d-ac96-774b-bcce-b302099a8057", "nonsense", "tsk_1", ""])
  func `unknown file is named`(_ file: String) throws {
    let task = #"{"kind":"upload","request":{"url":"\#(origin.url)","body":{"file":"\#(file)"}}}"#
    let reply = try place.call("POST", "/v1/tasks", task)
    #expect(reply.status == 400 && reply["Content-Type"] == "application/problem+json")
    #expect(reply.json["errors"]?.elements?.compactMap { $0["pointer"]?.string } == ["/request/body/file"])
  }

  @Test func `file deleted before the start is an error`() throws {
    let file = try place.store(Pattern.bytes(10))
    let id = try place.create(
      origin.url + "/", kind: "upload", request: #","body":{"file":"\#(file)"}"#, resume: false)
    #expect(try place.call("DELETE", "/v1/files/\(file)").status == 204)
    #expect(try place.act("resume", id) == "running")
    let task = try place.end(of: id)
    #expect(task.errorCode == -1100 && task["error"]?["name"]?.string == "fileDoesNotExist")
    #expect(task["error"]?["failingURL"]?.string == origin.url + "/")
    #expect(origin.requests.isEmpty)
  }

  /// No status is an error, and an early reply of the origin is the task's response.
  @Test func `early refusal is the response`() throws {
    let task = try place.run(origin.url + "/refuse", kind: "upload", request: body())
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 413)
    #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").text == "big")
    #expect((task["progress"]?["countOfBytesSent"]?.integer ?? 0) < Int64(Self.size))
    #expect(origin.requests.count == 1)
  }

  @Test(arguments: ["/reset", "/leave"]) func `interrupted upload is a lost connection`(
    _ path: String
  ) throws {
    let task = try place.run(origin.url + path, kind: "upload", request: body())
    #expect(task.errorCode == -1005 && task["error"]?["name"]?.string == "networkConnectionLost")
    #expect(task["response"] == .null && task["body"] == .null)
  }

  /// suspendResumeTask and §0.2: URLSession on Linux repeats the request and appends.
  @Test func `suspended upload continues`() throws {
    let id = try place.create(origin.url + "/gated", kind: "upload", request: body())
    let begun = try place.poll("/v1/tasks/\(id)") { ($0["progress"]?["countOfBytesSent"]?.integer ?? 0) > 0 }
    #expect((begun["progress"]?["countOfBytesSent"]?.integer ?? 0) < Int64(Self.size))
    #expect(try place.act("suspend", id) == "suspended")
    try place.waitForEarlierCommands(origin.url + "/settled")
    gate.open()
    for _ in 0..<5 {
      #expect(try place.act("resume", id) == "running")
      #expect(["suspended", "completed"].contains(try place.act("suspend", id) ?? ""))
    }
    #expect(["running", "completed"].contains(try place.act("resume", id) ?? ""))
    let task = try place.end(of: id)
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 200)
    #expect(task["progress"]?["countOfBytesSent"]?.integer == Int64(Self.size))
    #expect(origin.requests.filter { $0.path == "/gated" }.count == 1)
  }

  /// Ferry keeps the deleted file open until the end of the upload.
  @Test func `file deleted during the upload is sent whole`() throws {
    let file = try place.store(Pattern.bytes(Self.size))
    let id = try place.create(
      origin.url + "/gated", kind: "upload", request: #","method":"PUT","body":{"file":"\#(file)"}"#)
    _ = try place.poll("/v1/tasks/\(id)") { ($0["progress"]?["countOfBytesSent"]?.integer ?? 0) > 0 }
    #expect(try place.call("DELETE", "/v1/files/\(file)").status == 204)
    gate.open()
    #expect(try place.end(of: id)["response"]?["status"]?.integer == 200)
  }
}
