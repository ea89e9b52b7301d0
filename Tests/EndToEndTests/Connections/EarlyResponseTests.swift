import JSON
import TestSupport
import Testing

/// An origin that responds before it has read a stream's body. The client that sends the body may also be the delegate
/// that must answer.
@Suite(.serialized, .blocking, .sharing) struct EarlyResponseTests {
  private static let asking = #"{"taskChallenges":"ask","redirects":"ask","responses":"ask"}"#
  private static let challenge = "task.didReceiveChallenge"
  private static let redirect = "task.willPerformHTTPRedirection"
  private static let size = 20_000_000

  private let ferry: FerryProcess
  private let gate: Gate
  private let origin: TestOrigin

  init() throws {
    ferry = try .ofSuite()
    let gate = Gate()
    self.gate = gate
    origin = TestOrigin(readsBodies: false) { request, socket in
      func reads() throws -> Int {
        var count = 0
        try TestOrigin.read(bodyOf: request, from: socket) { count += $0.count }
        return count
      }
      switch request.path {
      case "/401" where request["Authorization"] == nil:
        try socket.write(
          TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", "Basic realm=\"x\"")]))
      case "/307": try socket.write(TestOrigin.reply("307 Again", [], [("Location", "/target")]))
      case "/403": try socket.write(TestOrigin.reply("403 Forbidden", Array("no".utf8)))
      case "/stalls":
        gate.wait()
        return false
      default:
        try socket.write(TestOrigin.reply("200 OK", Array("\(try reads())".utf8)))
        return true
      }
      // The origin does not read the body, and keeps the connection open.
      gate.wait()
      return false
    }
  }

  private func create(_ path: String, _ configuration: String = "{}") throws -> String {
    let session = try ferry.session(configuration, delegate: Self.asking)
    return try ferry.create(
      origin.url + path, kind: "upload", session: session, request: #","method":"PUT","body":{"stream":true}"#
    )
  }

  struct Sending: Sendable, CustomTestStringConvertible {
    let isChunked: Bool
    let isExpecting: Bool
    var testDescription: String {
      (isChunked ? "chunks" : "Content-Length") + (isExpecting ? " after 100-continue" : "")
    }
    static let all = [true, false].flatMap { isChunked in
      [true, false].map { Self(isChunked: isChunked, isExpecting: $0) }
    }
  }

  /// Writes the whole body before it reads the reply, like most clients.
  private func put(_ size: Int, to task: String, _ sending: Sending) throws -> HTTPReply {
    let client = try ferry.client()
    client.socket.setTimeout(seconds: 30)
    let framing = sending.isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(size)"
    let expectation = sending.isExpecting ? "Expect: 100-continue\r\n" : ""
    try client.socket.write(
      "PUT /v1/tasks/\(task)/body HTTP/1.1\r\nHost: 127.0.0.1\r\n\(framing)\r\n\(expectation)\r\n")
    if sending.isExpecting { #expect(try client.readHead().status == 100) }
    let piece = [UInt8](repeating: 97, count: 100_000)
    for _ in 0..<size / piece.count {
      if sending.isChunked { try client.socket.write("186a0\r\n") }
      try client.socket.write(piece)
      if sending.isChunked { try client.socket.write("\r\n") }
    }
    if sending.isChunked { try client.socket.write("0\r\n\r\n") }
    return try client.readReply()
  }

  private func expectInterrupted(_ reply: HTTPReply) {
    #expect(reply.status == 409 && reply["Content-Type"] == "application/problem+json")
    #expect(reply.json["type"]?.string == "/problems/upload-interrupted")
  }

  private func bodyQuestion(_ task: String, after sequence: Int64 = 0) throws -> EventReader.Event {
    try ferry.decisionEvent(of: task, "task.needNewBodyStream", after: sequence)
  }

  @Test(arguments: Sending.all) func `writing client learns of the challenge`(_ sending: Sending) throws {
    let id = try create("/401")
    _ = try bodyQuestion(id)
    expectInterrupted(try put(Self.size, to: id, sending))
    let question = try ferry.decisionEvent(of: id, Self.challenge)
    #expect(try ferry.task(id)["phase"]?.string == "waitingForDecision")
    let credential = #"{"user":"u","password":"p","persistence":"none"}"#
    try ferry.answer(question.decision, #"{"disposition":"useCredential","credential":\#(credential)}"#)
    _ = try bodyQuestion(id, after: try #require(question.id))
    #expect(try put(Self.size, to: id, sending).status == 204)
    let response = try ferry.decisionEvent(of: id, "dataTask.didReceiveResponse")
    try ferry.answer(response.decision, #"{"disposition":"allow"}"#)
    #expect(try ferry.end(of: id)["error"] == .null)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").text == "\(Self.size)")
  }

  @Test(arguments: Sending.all) func `writing client learns of the redirect`(_ sending: Sending) throws {
    let id = try create("/307")
    _ = try bodyQuestion(id)
    expectInterrupted(try put(Self.size, to: id, sending))
    let question = try ferry.decisionEvent(of: id, Self.redirect)
    let request = try #require(question.data["request"]).text
    try ferry.answer(question.decision, #"{"request":\#(request)}"#)
    _ = try bodyQuestion(id, after: try #require(question.id))
    #expect(try put(Self.size, to: id, sending).status == 204)
    let response = try ferry.decisionEvent(of: id, "dataTask.didReceiveResponse")
    try ferry.answer(response.decision, #"{"disposition":"allow"}"#)
    #expect(try ferry.end(of: id)["error"] == .null)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").text == "\(Self.size)")
  }

  /// The delegate has not seen the refusal yet.
  @Test func `client that writes first learns of the refusal`() throws {
    let id = try create("/403")
    _ = try bodyQuestion(id)
    expectInterrupted(try put(Self.size, to: id, Sending(isChunked: false, isExpecting: false)))
    let question = try ferry.decisionEvent(of: id, "dataTask.didReceiveResponse")
    try ferry.answer(question.decision, #"{"disposition":"allow"}"#)
    let task = try ferry.end(of: id)
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 403)
  }

  /// The client has sent a part of the body and waits. It receives the reply at once.
  @Test(arguments: [nil, 1000, 1_000_000]) func `idle client learns of challenge`(_ length: Int?) throws {
    let id = try create("/401")
    let writer = try BodyWriter(ferry, id, length: length)
    writer.client.socket.setTimeout(seconds: 60)
    try writer.write(Pattern.bytes(100))
    _ = try ferry.decisionEvent(of: id, Self.challenge)
    expectInterrupted(try writer.client.readReply())
  }

  // MARK: A client that stalls

  /// `timeoutIntervalForRequest` applies to the client's body too.
  @Test(arguments: [nil, 1000, 1_000_000], [0, 100])
  func `stalled client ends the task by its timeout`(_ length: Int?, _ sent: Int) throws {
    let id = try create("/stalls", #"{"timeoutIntervalForRequest":0.8}"#)
    let writer = try BodyWriter(ferry, id, length: length)
    writer.client.socket.setTimeout(seconds: 60)
    try writer.write(Pattern.bytes(sent))
    let task = try ferry.end(of: id)
    #expect(task.errorCode == -1001 && task["error"]?["name"]?.string == "timedOut")
    expectInterrupted(try writer.client.readReply())
    gate.open()
  }

  /// The client sends some bytes within each interval.
  @Test func `slow client causes no timeout`() throws {
    let id = try create("/", #"{"timeoutIntervalForRequest":1.5}"#)
    let writer = try BodyWriter(ferry, id, length: 40)
    for _ in 0..<3 {
      try writer.write(Pattern.bytes(10))
      #expect(!writer.client.socket.hasBytes(within: 700))
    }
    try writer.write(Pattern.bytes(10))
    #expect(try writer.finish().status == 204)
    let response = try ferry.decisionEvent(of: id, "dataTask.didReceiveResponse")
    try ferry.answer(response.decision, #"{"disposition":"allow"}"#)
    #expect(try ferry.end(of: id)["error"] == .null)
  }
}
