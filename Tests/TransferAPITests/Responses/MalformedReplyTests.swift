import JSON
import TestSupport
import Testing

/// Origins that do not keep to the rules: illegalHTTPServerResponses and http0_9SimpleResponses among them. Each ends in
/// an error that says so, or in what the bytes can only mean; none harms the service.
@Suite(.serialized, .blocking, .sharing) struct MalformedReplyTests {
  private let place: APIPlace

  init() throws { place = try .ofSuite() }

  struct Reply: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    /// The error's code, or the body.
    var code: Int64?
    var underlying: Int64?
    var body: String?
    init(_ name: String, _ text: String, code: Int64, underlying: Int64) {
      (testDescription, self.text, self.code, self.underlying) = (name, text, code, underlying)
    }
    init(_ name: String, _ text: String, body: String) {
      (testDescription, self.text, self.body) = (name, text, body)
    }
  }
  private static let ok = "HTTP/1.1 200 OK\r\n"

  /// An origin that sends `text` and closes.
  private func origin(_ text: String) -> TestOrigin {
    TestOrigin { request, socket in
      if request.path == "/well" {
        try socket.write(TestOrigin.reply("200 OK", Array("well".utf8)))
        return true
      }
      try? socket.write(text)
      return false
    }
  }

  // CURLE_UNSUPPORTED_PROTOCOL 1, WEIRD_SERVER_REPLY 8, PARTIAL_FILE 18, GOT_NOTHING 52, RECV_ERROR 56.
  @Test(arguments: [
    Reply("nothing", "", code: -1011, underlying: 52),
    Reply("status line without a status", "HTTP/1.1\r\n\r\n\r\n", code: -1017, underlying: 1),
    Reply("status of words", "HTTP/1.1 two hundred\r\n\r\n", code: -1017, underlying: 1),
    Reply("status of two digits", "HTTP/1.1 20 Too Few\r\n\r\n", code: -1017, underlying: 1),
    Reply("status of four digits", "HTTP/1.1 2000 Too Many\r\n\r\n", code: -1017, underlying: 1),
    Reply("status of zero", "HTTP/1.1 000 Nothing\r\n\r\n", code: -1017, underlying: 1),
    Reply("version 3 over TCP", "HTTP/3 200 OK\r\n\r\n", code: -1017, underlying: 1),
    Reply("field without a colon", ok + "Content-Length: 2\r\ncolon\r\n\r\nok", code: -1017, underlying: 8),
    Reply("zero byte in a field", ok + "X-A: a\0b\r\n\r\nok", code: -1017, underlying: 8),
    Reply("length of words", ok + "Content-Length: many\r\n\r\nok", code: -1017, underlying: 8),
    Reply("length below zero", ok + "Content-Length: -5\r\n\r\nok", code: -1017, underlying: 8),
    Reply("body cut short", ok + "Content-Length: 100\r\n\r\nhalf", code: -1005, underlying: 18),
    Reply(
      "last chunk missing", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", code: -1005,
      underlying: 18),
    Reply(
      "last chunk cut short", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0", code: -1005,
      underlying: 18),
    Reply(
      "data like a last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n10\r\nhello\r\n0\r\n", code: -1005,
      underlying: 18),
    Reply(
      "chunk cut short", ok + "Transfer-Encoding: chunked\r\n\r\n10\r\nhalf", code: -1005, underlying: 18),
    Reply(
      "chunk size of words", ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n", code: -1017,
      underlying: 56),
    Reply(
      "chunk size too large",
      ok + "Transfer-Encoding: chunked\r\n\r\n\(String(repeating: "F", count: 20))\r\nab", code: -1017,
      underlying: 56),
    Reply(
      "chunk without its end", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n", code: -1017,
      underlying: 56),
  ]) func aBrokenReplyIsAnError(_ reply: Reply) throws {
    let origin = origin(reply.text)
    let session = try place.session()
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind, session: session)
      #expect(task["state"]?.string == "completed" && task["body"] == .null)
      #expect(task.errorCode == reply.code)
      // What libcurl 8 lets pass is refused by Ferry itself.
      #expect([reply.underlying, nil].contains(task["error"]?["underlying"]?["code"]?.integer))
      #expect(task["error"]?["failingURL"]?.string == origin.url)
      #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").status == 404)
      let next = try place.run(origin.url + "/well", kind: kind, session: session, query: "?include=body")
      #expect(next["body"]?["text"]?.string == "well")
    }
  }

  /// Whatever speaks first on its port would be an answer in HTTP/0.9: none is taken for one.
  @Test(arguments: [
    "<html>technically a simple-response</html>\r\n", "\0\0\u{18}\u{4}\0\0\0\0\0\0\u{1}\0\0\u{10}\0",
    "HARGLE/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "SSH-2.0-OpenSSH_9.2p1\r\n", "ok",
  ])
  func anAnswerWithoutAHeadIsRefused(_ text: String) throws {
    let origin = origin(text)
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind, query: "?include=body")
      #expect(task.errorCode == -1017 && task["body"] == .null && task["response"] == .null)
    }
  }

  /// Where an answer ends must be known before it can be whole; each of these would be, up to the close.
  @Test(arguments: [
    ("a length beyond all numbers", "200 OK\r\nContent-Length: 99999999999999999999999", -1017),
    ("an unasked upgrade", "101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade", -1011),
    ("an unasked transfer coding", "200 OK\r\nTransfer-Encoding: gzip", -1017),
    ("two lengths", "200 OK\r\nContent-Length: 5\r\nContent-Length: 6", -1017),
    ("a blank behind the name of a length", "200 OK\r\nContent-Length : 5", -1017),
    (
      "a blank behind the name of a coding", "302 Found\r\nLocation: /\r\nTransfer-Encoding\t: chunked", -1017
    ),
    ("a hidden length beside another", "200 OK\r\nContent-Length: 5\r\ncontent-length : 6", -1017),
    ("a coding on a line of its own", "200 OK\r\nTransfer-Encoding:\r\n chunked", -1017),
  ]) func anAnswerThatEndsNowhereIsRefused(_: String, _ head: String, _ code: Int64) throws {
    let gate = Gate()
    let origin = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 \(head)\r\n\r\nhello")
      gate.wait()  // it is the head that tells, not the end
      return false
    }
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind)
      #expect(task.errorCode == code && task["body"] == .null)
    }
    gate.open()
    withExtendedLifetime(origin) {}
  }

  /// What is wrong here leaves no doubt of what is meant.
  @Test(arguments: [
    Reply("version 1.0 until the close", "HTTP/1.0 200 OK\r\n\r\nclosed", body: "closed"),
    // missingContentLengthButStillABody
    Reply("no length", ok + "\r\nuntil the close", body: "until the close"),
    // outOfRangeButCorrectlyFormattedHTTPCode
    Reply("status 999", "HTTP/1.1 999 Who Knows\r\nX-A: b\r\n\r\nok", body: "ok"),
    Reply("no reason", "HTTP/1.1 200\r\nX-A: b\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
    Reply("an odd reason", "HTTP/1.1 200 \u{e4}\t-- :\r\nX-A: b\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
    Reply("bare line feeds", "HTTP/1.1 200 OK\nX-A: b\nContent-Length: 2\n\nok", body: "ok"),
    // dataTaskAcceptsResponseHeaderValueWithoutWhitespace
    Reply("no blank behind the colon", ok + "X-A:b\r\nContent-Length:2\r\n\r\nok", body: "ok"),
    Reply("blanks around a value", ok + "X-A: \t b \t \r\nContent-Length:   2  \r\n\r\nok", body: "ok"),
    Reply("blanks before a colon", ok + "X-A \t: b\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
    Reply("folded field", ok + "X-B: 1\r\nX-A: \r\n b\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
    Reply("more than the length", ok + "X-A: b\r\nContent-Length: 2\r\n\r\nokay", body: "ok"),
    Reply(
      "the same length twice", ok + "X-A: b\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
    Reply(
      "length and chunks",
      ok + "X-A: b\r\nContent-Length: 90\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
      body: "ok"),
    Reply(
      "chunk extensions", ok + "X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0;c\r\n\r\n",
      body: "ok"),
    // RFC 9112 §8: the last chunk makes the body whole.
    Reply(
      "no line behind the last chunk", ok + "X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
      body: "ok"),
    Reply(
      "trailers cut short",
      ok + "X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\nX-U", body: "ok"),
    // Trailers ended the peer's process (swift-corelibs-foundation, NativeProtocol.swift).
    Reply(
      "trailers",
      ok
        + "X-A: b\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\nX-A: c\r\n\r\n",
      body: "ok"),
  ]) func anOddReplyIsUnderstood(_ reply: Reply) throws {
    let origin = origin(reply.text)
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind, query: "?include=body")
      #expect(task["error"] == .null && task["body"]?["text"]?.string == reply.body)
      if reply.text.contains("X-A") { #expect(task["response"]?["headers"]?["X-A"]?.string == "b") }
    }
    #expect(try place.run(origin.url + "/well")["error"] == .null)
    withExtendedLifetime(origin) {}
  }

  /// A reply without the end of its head is no reply.
  @Test(
    arguments: [
      ("H", -1011), ("HTTP/1.1 20", -1011), ("HTTP/1.1 103 Early Hints\r\n\r\n", -1011),
      ("HTTP/1.1 200 OK\r\n", -1005), ("HTTP/1.1 200 OK\r\nConte", -1005),
      ("HTTP/1.1 200 OK\r\nX-A: b\r\n", -1005), ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", -1005),
    ] as [(String, Int64)])
  func aHeadCutShortIsAnError(_ text: String, _ code: Int64) throws {
    let origin = origin(text)
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind)
      #expect(task.errorCode == code)
      #expect(task["response"] == .null && task["body"] == .null)
    }
    withExtendedLifetime(origin) {}
  }

  /// libcurl takes 100 KiB for a line and 300 KiB for a head.
  @Test(arguments: [(1, 200_000), (400, 1000), (40, 10_000)])
  func aHeadThatIsTooLargeIsAnError(_ lines: Int, _ size: Int) throws {
    let field = "X-A: " + String(repeating: "a", count: size) + "\r\n"
    let origin = origin(Self.ok + String(repeating: field, count: lines) + "Content-Length: 2\r\n\r\nok")
    let task = try place.run(origin.url)
    #expect(task.errorCode == -1017)
    #expect(task["error"]?["message"]?.string == "the head of the answer is too large")

    withExtendedLifetime(origin) {}
  }
}
