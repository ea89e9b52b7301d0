import JSON
import TestSupport
import Testing

/// Bodies that the client sends when the task requests them (`httpBodyStream`, `needNewBodyStream`).
@Suite(.serialized, .blocking, .sharing) struct UploadStreamTests {
  private let ferry: FerryProcess
  private let gate: Gate
  private let origin: TestOrigin
  /// More bytes than all sockets between client and origin can buffer.
  private static let size = 64_000_000

  init() throws {
    ferry = try .ofSuite()
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin(readsBodies: false) { request, socket in
      if request.path == "/gated" { gate.wait() }
      var (offset, isExact) = (0, true)
      try TestOrigin.read(bodyOf: request, from: socket) { piece in
        isExact = isExact && piece == Pattern.bytes(piece.count, from: offset)
        offset += piece.count
      }
      switch request.path {
      case "/307": try socket.write(TestOrigin.reply("307 Again", [], [("Location", "/target")]))
      case "/303": try socket.write(TestOrigin.reply("303 Look", [], [("Location", "/target")]))
      default: try socket.write(TestOrigin.reply("200 OK", Array("\(offset) \(isExact)".utf8)))
      }
      return true
    }
  }

  private func create(
    _ path: String = "/", session: String? = nil, headers: String = "{}", resume: Bool = true
  ) throws -> String {
    try ferry.create(
      origin.url + path, kind: "upload", session: try session ?? ferry.session(delegate: "{}"),
      request: #","method":"PUT","headers":\#(headers),"body":{"stream":true}"#,
      resume: resume)
  }

  /// Returns the origin's report on the body: its size, and whether each byte was correct.
  private func reply(to id: String) throws -> String {
    let task = try ferry.end(of: id)
    #expect(task["error"] == .null)
    return try ferry.call("GET", "/v1/tasks/\(id)/body").text
  }

  /// Waits until the named count of the task's progress has this value.
  private func wait(for count: Int64, in name: String, of id: String) throws {
    let task = try ferry.poll("/v1/tasks/\(id)") { $0["progress"]?[name]?.integer == count }
    #expect(task["progress"]?[name]?.integer == count)
  }

  /// Waits until the task requests its body.
  private func waitForTheQuestion(_ id: String) throws {
    let types = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "task.needNewBodyStream")
    #expect(types.last?.type == "task.needNewBodyStream")
  }

  /// As Foundation's tests `simpleUploadWithDelegateProvidingInputStream` and `dataTaskWithHttpInputStream` demand,
  /// `needNewBodyStream` comes first.
  @Test func `task requests its body before it connects`() throws {
    let id = try create()
    let events = try ferry.events("/v1/tasks/\(id)/events?after=0")
    let before = try events.read(upTo: "task.needNewBodyStream")
    #expect(
      before.map(\.type) == [
        "task.didCreate", "task.didChangeState", "task.didChangeState", "task.needNewBodyStream",
      ])
    #expect(before.dropLast().last?.data["phase"]?.string == "waitingForDecision")
    let question = try #require(before.last)
    #expect(question.data["default"]?.string == "fail" && question.data["expiresAt"] != nil)
    #expect(try ferry.task(id)["phase"]?.string == "waitingForDecision")
    let decision = try #require(question.data["decisionId"]?.string)
    #expect(try ferry.call("GET", "/v1/decisions/\(decision)").json["state"]?.string == "pending")
    #expect(origin.requests.isEmpty)
    #expect(try ferry.put(Pattern.bytes(1000), to: id).status == 204)
    let after = try events.read(upTo: "task.didComplete").map(\.type)
    let rest = after.filter { $0 != "task.didChangeState" && $0 != "dataTask.didReceiveData" }
    #expect(
      rest == [
        "task.didSendBodyData", "dataTask.didReceiveResponse", "task.didFinishCollectingMetrics",
        "task.didComplete",
      ])
    #expect(try reply(to: id) == "1000 true")
    #expect(try ferry.call("GET", "/v1/decisions/\(decision)").json["state"]?.string == "answered")
  }

  @Test(arguments: [0, 1, 65_536, 300_001], [true, false])
  func `streams arrive exactly`(_ size: Int, _ isChunked: Bool) throws {
    let id = try create()
    let put = try ferry.put(Pattern.bytes(size), to: id, isChunked: isChunked)
    #expect(put.status == 204 && put.body.isEmpty)
    #expect(try reply(to: id) == "\(size) true")
    let request = try #require(origin.requests.first)
    #expect(request["Content-Length"] == (isChunked ? nil : "\(size)"))
    #expect(request["Transfer-Encoding"] == (isChunked ? "chunked" : nil))
    let progress = try ferry.task(id)["progress"]
    #expect(progress?["countOfBytesSent"]?.integer == Int64(size))
    #expect(progress?["countOfBytesExpectedToSend"]?.integer == (isChunked ? -1 : Int64(size)))
    let metrics = try ferry.metrics(of: id)["transactionMetrics"]?.elements?.first
    #expect(metrics?["countOfRequestBodyBytesBeforeEncoding"]?.integer == Int64(size))
    let sent = metrics?["countOfRequestBodyBytesSent"]?.integer ?? 0
    #expect(isChunked ? sent > size : sent == size)
  }

  // MARK: Content-Length of the request

  @Test(arguments: [0, 1, 65_536, 300_001], [true, false])
  func `own Content-Length replaces chunked encoding`(_ size: Int, _ isChunked: Bool) throws {
    let id = try create(headers: #"{"content-length":"\#(size)"}"#)
    #expect(try ferry.task(id)["progress"]?["countOfBytesExpectedToSend"]?.integer == Int64(size))
    #expect(try ferry.put(Pattern.bytes(size), to: id, isChunked: isChunked).status == 204)
    #expect(try reply(to: id) == "\(size) true")
    let request = try #require(origin.requests.first)
    #expect(request["Content-Length"] == "\(size)" && request["Transfer-Encoding"] == nil)
    let task = try ferry.task(id)
    #expect(task["progress"]?["countOfBytesExpectedToSend"]?.integer == Int64(size))
    #expect(task["originalRequest"]?["headers"]?["content-length"]?.string == "\(size)")
  }

  /// A body of another length ends the task, and the origin never receives a complete request.
  @Test(arguments: [999, 1001, 5000], [true, false])
  func `body of another length is refused`(_ size: Int, _ isChunked: Bool) throws {
    let id = try create(headers: #"{"Content-Length":"1000"}"#)
    try waitForTheQuestion(id)
    let reply = try ferry.put(Pattern.bytes(size), to: id, isChunked: isChunked)
    #expect(reply.status == 400 && reply["Content-Type"] == "application/problem+json")
    #expect(reply.json["detail"]?.string?.contains("Content-Length is 1000") == true)
    let task = try ferry.end(of: id)
    #expect(task.errorCode == -1021 && task["response"] == .null)
    #expect(task["error"]?["message"]?.string?.contains("Content-Length is 1000") == true)
  }

  @Test(arguments: ["-1", "+1", "1.0", " 1", "", "x", "1125899906842625", "99999999999999999999"])
  func `invalid Content-Length is refused`(_ length: String) throws {
    let session = try ferry.session(delegate: "{}")
    for body in [#"{"stream":true}"#, #"{"text":"x"}"#] {
      let headers = #"{"Content-Length":"\#(body.contains("text") ? "1" : length)"}"#
      let task =
        #"{"kind":"upload","request":{"url":"http://127.0.0.1/","headers":\#(headers),"body":\#(body)}}"#
      let reply = try ferry.call("POST", "/v1/sessions/\(session)/tasks", task)
      #expect(reply.status == 400)
      let pointers = reply.json["errors"]?.elements?.map { $0["pointer"]?.string }
      #expect(pointers == ["/request/headers/Content-Length"])
    }
  }

  // MARK: Delegate and back-pressure

  /// URLSession asks its delegate for the stream, so a stream needs a delegate.
  @Test func `session without a delegate refuses a stream`() throws {
    let task = #"{"kind":"upload","request":{"url":"http://127.0.0.1/","body":{"stream":true}}}"#
    for path in ["/v1/tasks", "/v1/sessions/\(try ferry.session())/tasks"] {
      let reply = try ferry.call("POST", path, task)
      #expect(reply.status == 400)
      #expect(reply.json["errors"]?.elements?.first?["pointer"]?.string == "/request/body")
    }
    let session = try ferry.session(delegate: "{}")
    #expect(try ferry.call("POST", "/v1/sessions/\(session)/tasks", task).status == 201)
    let asked = task.replacing(#"{"kind""#, with: #"{"delegate":{},"kind""#)
    #expect(try ferry.call("POST", "/v1/tasks", asked).status == 201)
  }

  /// Back-pressure in the upload direction, as in issue #3204 of swift-corelibs-foundation.
  @Test(arguments: [true, false]) func `slow origin slows the client`(_ isChunked: Bool) throws {
    let id = try create("/gated")
    let writer = try BodyWriter(ferry, id, length: isChunked ? nil : Self.size)
    let bytes = Pattern.bytes(Self.size)
    if isChunked { try writer.client.socket.write(String(Self.size, radix: 16) + "\r\n") }
    let taken = writer.client.socket.offer(bytes, patience: 500)
    #expect(taken < Self.size / 2)
    #expect((try ferry.task(id)["progress"]?["countOfBytesSent"]?.integer ?? .max) <= Int64(taken))
    gate.open()
    try writer.client.socket.write(Array(bytes[taken...]))
    if isChunked { try writer.client.socket.write("\r\n") }
    #expect(try writer.finish().status == 204)
    #expect(try reply(to: id) == "\(Self.size) true")
    #expect(origin.requests.count == 1)
  }

  /// Suspension slows the client as well, and no byte is sent twice.
  @Test func `suspended task slows the client`() throws {
    let id = try create()
    let writer = try BodyWriter(ferry, id, length: Self.size)
    let bytes = Pattern.bytes(Self.size)
    try writer.write(Array(bytes[..<100_000]))
    try wait(for: 100_000, in: "countOfBytesSent", of: id)
    #expect(try ferry.act("suspend", id) == "suspended")
    try ferry.waitForEarlierCommands(origin.url + "/settled")
    let taken = writer.client.socket.offer(Array(bytes[100_000...]), patience: 500) + 100_000
    #expect(taken < Self.size / 2)
    #expect(try ferry.act("resume", id) == "running")
    try writer.write(Array(bytes[taken...]))
    #expect(try writer.finish().status == 204)
    #expect(try reply(to: id) == "\(Self.size) true")
    #expect(origin.requests.filter { $0.path == "/" }.count == 1)
  }

  @Test(arguments: [nil, 1_000_000]) func `client that disconnects fails the task`(_ length: Int?) throws {
    let id = try create()
    let writer = try BodyWriter(ferry, id, length: length)
    try writer.write(Pattern.bytes(100_000))
    try wait(for: 100_000, in: "countOfBytesSent", of: id)
    writer.client.socket.shutdownWrites()
    let task = try ferry.end(of: id)
    #expect(task.errorCode == -1021 && task["error"]?["name"]?.string == "requestBodyStreamExhausted")
    #expect(task["response"] == .null)
  }

  // MARK: Accepted and refused bodies

  @Test func `second body is refused`() throws {
    let id = try create()
    let first = try BodyWriter(ferry, id, length: 20)
    try first.write(Pattern.bytes(10))
    try wait(for: 10, in: "countOfBytesSent", of: id)
    let second = try ferry.put(Pattern.bytes(20), to: id)
    #expect(second.status == 409 && second["Content-Type"] == "application/problem+json")
    try first.write(Pattern.bytes(10, from: 10))
    #expect(try first.finish().status == 204)
    #expect(try reply(to: id) == "20 true")
    #expect(try ferry.put(Pattern.bytes(20), to: id).status == 409)
  }

  @Test func `tasks without a stream refuse a body`() throws {
    let plain = try ferry.create(origin.url + "/", resume: false)
    let text = try ferry.create(
      origin.url + "/", kind: "upload", request: #","body":{"text":"x"}"#, resume: false)
    for id in [plain, text] { #expect(try ferry.put([1], to: id).status == 409) }
    let done = try ferry.run(origin.url + "/")
    #expect(try ferry.put([1], to: done.id).status == 409)
    #expect(try ferry.put([1], to: "tsk_01890a5d-ac96-774b-bcce-b302099a8057").status == 404)
    for id in [plain, text] {
      #expect(try ferry.act("resume", id) == "running")
      #expect(try ferry.end(of: id)["error"] == .null)
    }
  }

  /// The client may send the body before the task is resumed.
  @Test func `body before the start waits for the resume`() throws {
    let id = try create(resume: false)
    let writer = try BodyWriter(ferry, id, length: 1000)
    try writer.write(Pattern.bytes(1000))
    try wait(for: 1000, in: "countOfBytesExpectedToSend", of: id)
    #expect(origin.requests.isEmpty)
    #expect(try ferry.act("resume", id) == "running")
    #expect(try writer.finish().status == 204)
    #expect(try reply(to: id) == "1000 true")
  }

  /// A body whose client disconnects before the start is discarded.
  @Test func `body withdrawn before the start can be sent again`() throws {
    let id = try create(resume: false)
    let writer = try BodyWriter(ferry, id, length: 1000)
    try writer.write(Pattern.bytes(10))
    try wait(for: 1000, in: "countOfBytesExpectedToSend", of: id)
    try ferry.waitForEarlierCommands(origin.url + "/settled")
    writer.client.socket.shutdownWrites()
    try wait(for: -1, in: "countOfBytesExpectedToSend", of: id)
    #expect(try ferry.act("resume", id) == "running")
    #expect(try ferry.put(Pattern.bytes(2000), to: id).status == 204)
    #expect(try reply(to: id) == "2000 true")
  }

  @Test func `missing body fails the task`() throws {
    let session = try ferry.session(delegate: #"{"decisionTimeout":0.3}"#)
    let task = try ferry.end(of: create(session: session))
    #expect(task.errorCode == -1021 && task["error"]?["name"]?.string == "requestBodyStreamExhausted")
    #expect(try ferry.put([1], to: task.id).status == 409)
    #expect(origin.requests.isEmpty)
  }

  @Test func `cancelled task refuses its body`() throws {
    let waiting = try create()
    try waitForTheQuestion(waiting)
    #expect(try ferry.act("cancel", waiting) == "canceling")
    #expect(try ferry.put([1], to: waiting).status == 409)
    let halfway = try create()
    let writer = try BodyWriter(ferry, halfway, length: 1000)
    try writer.write(Pattern.bytes(10))
    try wait(for: 10, in: "countOfBytesSent", of: halfway)
    #expect(try ferry.act("cancel", halfway) == "canceling")
    try writer.write(Pattern.bytes(990))
    #expect(try writer.finish().status == 409)
    for id in [waiting, halfway] { #expect(try ferry.end(of: id).errorCode == -999) }
  }

  /// After a 307, only the client can send the stream again (`needNewBodyStream`).
  @Test(arguments: [true, false]) func `redirect with the body requests it again`(_ isChunked: Bool) throws {
    let id = try create("/307")
    let events = try ferry.events("/v1/tasks/\(id)/events?after=0")
    var types: [String] = []
    for size in [3000, 2000] {
      types += try events.read(upTo: "task.needNewBodyStream").map(\.type)
      #expect(try ferry.put(Pattern.bytes(size), to: id, isChunked: isChunked).status == 204)
    }
    types += try events.read(upTo: "task.didComplete").map(\.type)
    #expect(types.filter { $0 == "task.needNewBodyStream" }.count == 2)
    #expect(types.filter { $0 == "task.willPerformHTTPRedirection" }.count == 1)
    #expect(try reply(to: id) == "2000 true")
    #expect(origin.requests.map(\.line) == ["PUT /307 HTTP/1.1", "PUT /target HTTP/1.1"])
  }

  /// A 303 changes the request to a GET without a body.
  @Test func `redirect without the body requests it once`() throws {
    let id = try create("/303")
    #expect(try ferry.put(Pattern.bytes(3000), to: id).status == 204)
    #expect(try ferry.story(of: id).filter { $0.type == "task.needNewBodyStream" }.count == 1)
    #expect(origin.requests.map(\.method) == ["PUT", "GET"])
    #expect(try ferry.put([1], to: id).status == 409)
  }
}
