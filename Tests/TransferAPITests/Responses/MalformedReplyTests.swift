import JSON
import TestSupport
import Testing

/// Origins that violate the protocol, as in illegalHTTPServerResponses and http0_9SimpleResponses.
///
/// The task ends with an error, or with the only possible meaning of the bytes. The service is unharmed.
@Suite(.serialized, .blocking, .sharing) struct MalformedReplyTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  struct Reply: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    /// The error's code. If `nil`, `body` is the expected body.
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

  /// Makes an origin that sends `text` and closes the connection.
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
  ]) func `malformed response is an error`(_ reply: Reply) throws {
    let origin = origin(reply.text)
    let session = try place.session()
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind, session: session)
      #expect(task["state"]?.string == "completed" && task["body"] == .null)
      #expect(task.errorCode == reply.code)
      // Ferry itself refuses some responses that libcurl 8 accepts.
      #expect([reply.underlying, nil].contains(task["error"]?["underlying"]?["code"]?.integer))
      #expect(task["error"]?["failingURL"]?.string == origin.url)
      #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").status == 404)
      let next = try place.run(origin.url + "/well", kind: kind, session: session, query: "?include=body")
      #expect(next["body"]?["text"]?.string == "well")
    }
  }

  /// HTTP/0.9 would accept any bytes as a body, so Ferry does not support it.
  @Test(arguments: [
    "<html>technically a simple-response</html>\r\n", "\0\0\u{18}\u{4}\0\0\0\0\0\0\u{1}\0\0\u{10}\0",
    "HARGLE/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "SSH-2.0-OpenSSH_9.2p1\r\n", "ok",
  ])
  func `response without a head is refused`(_ text: String) throws {
    let origin = origin(text)
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind, query: "?include=body")
      #expect(task.errorCode == -1017 && task["body"] == .null && task["response"] == .null)
    }
  }

  /// A body is complete only if its end is known. Without this rule, each of these would end with the connection.
  @Test(arguments: [
    ("a length that overflows", "200 OK\r\nContent-Length: 99999999999999999999999", -1017),
    ("an unrequested upgrade", "101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade", -1011),
    ("an unrequested transfer coding", "200 OK\r\nTransfer-Encoding: gzip", -1017),
    ("two lengths", "200 OK\r\nContent-Length: 5\r\nContent-Length: 6", -1017),
    ("a blank after the name Content-Length", "200 OK\r\nContent-Length : 5", -1017),
    (
      "a blank after the name Transfer-Encoding", "302 Found\r\nLocation: /\r\nTransfer-Encoding\t: chunked",
      -1017
    ),
    ("a hidden second length", "200 OK\r\nContent-Length: 5\r\ncontent-length : 6", -1017),
    ("a coding on a separate line", "200 OK\r\nTransfer-Encoding:\r\n chunked", -1017),
  ]) func `response with an unknown length is refused`(_: String, _ head: String, _ code: Int64) throws {
    let gate = Gate()
    let origin = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 \(head)\r\n\r\nhello")
      gate.wait()  // the head decides, not the end
      return false
    }
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind)
      #expect(task.errorCode == code && task["body"] == .null)
    }
    gate.open()
    withExtendedLifetime(origin) {}
  }

  /// These responses are irregular, but their meaning is clear.
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
    Reply("no blank after the colon", ok + "X-A:b\r\nContent-Length:2\r\n\r\nok", body: "ok"),
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
      "no line after the last chunk", ok + "X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
      body: "ok"),
    Reply(
      "trailers cut short",
      ok + "X-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\nX-U", body: "ok"),
    // Trailer fields crashed URLSession on Linux (swift-corelibs-foundation, NativeProtocol.swift).
    Reply(
      "trailers",
      ok
        + "X-A: b\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\nX-A: c\r\n\r\n",
      body: "ok"),
  ]) func `irregular response with a clear meaning is accepted`(_ reply: Reply) throws {
    let origin = origin(reply.text)
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind, query: "?include=body")
      #expect(task["error"] == .null && task["body"]?["text"]?.string == reply.body)
      if reply.text.contains("X-A") { #expect(task["response"]?["headers"]?["X-A"]?.string == "b") }
    }
    #expect(try place.run(origin.url + "/well")["error"] == .null)
    withExtendedLifetime(origin) {}
  }

  /// A response needs a complete head.
  @Test(
    arguments: [
      ("H", -1011), ("HTTP/1.1 20", -1011), ("HTTP/1.1 103 Early Hints\r\n\r\n", -1011),
      ("HTTP/1.1 200 OK\r\n", -1005), ("HTTP/1.1 200 OK\r\nConte", -1005),
      ("HTTP/1.1 200 OK\r\nX-A: b\r\n", -1005), ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", -1005),
    ] as [(String, Int64)])
  func `truncated head is an error`(_ text: String, _ code: Int64) throws {
    let origin = origin(text)
    for kind in ["data", "download"] {
      let task = try place.run(origin.url, kind: kind)
      #expect(task.errorCode == code)
      #expect(task["response"] == .null && task["body"] == .null)
    }
    withExtendedLifetime(origin) {}
  }

  /// libcurl's limits are 100 KiB for a line and 300 KiB for a head.
  @Test(arguments: [(1, 200_000), (400, 1000), (40, 10_000)])
  func `head above the limit is an error`(_ lines: Int, _ size: Int) throws {
    let field = "X-A: " + String(repeating: "a", count: size) + "\r\n"
    let origin = origin(Self.ok + String(repeating: field, count: lines) + "Content-Length: 2\r\n\r\nok")
    let task = try place.run(origin.url)
    #expect(task.errorCode == -1017)
    #expect(task["error"]?["message"]?.string == "the head of the response is too large")

    withExtendedLifetime(origin) {}
  }
}
