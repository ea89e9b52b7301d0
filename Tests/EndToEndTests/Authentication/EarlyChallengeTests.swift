import JSON
import TestSupport
import Testing

/// A 401 that arrives before the request's body is sent.
@Suite(.serialized, .blocking, .sharing) struct EarlyChallengeTests {
  private let ferry: FerryProcess
  private let session: String
  private static let basic = #"Basic realm="b, with \"Digest nonce=1\"", charset="UTF-8""#

  init() throws {
    ferry = try .ofSuite()
    session = try ferry.session(delegate: #"{"sessionChallenges":"ask","taskChallenges":"ask"}"#)
  }

  /// Ferry drops the unsent rest of the first attempt's body.
  @Test(arguments: ["file", "stream"]) func `early 401 ends the upload attempt`(_ kind: String) throws {
    let size = 20_000_000
    let origin = TestOrigin(readsBodies: false) { request, socket in
      guard request["Authorization"] != nil else {
        try socket.write(TestOrigin.reply("401 Unauthorized", [], [("WWW-Authenticate", Self.basic)]))
        while try socket.readSome() != nil {}
        return false
      }
      var (offset, isExact) = (0, true)
      try TestOrigin.read(bodyOf: request, from: socket) { piece in
        isExact = isExact && piece == Pattern.bytes(piece.count, from: offset)
        offset += piece.count
      }
      try socket.write(TestOrigin.reply("200 OK", Array("\(offset) \(isExact)".utf8)))
      return true
    }
    let isStream = kind == "stream"
    let content = isStream ? #"{"stream":true}"# : #"{"file":"\#(try ferry.store(Pattern.bytes(size)))"}"#
    let id = try ferry.create(
      origin.url + "/", kind: "upload", session: session, request: #","method":"PUT","body":\#(content)"#)
    let first = isStream ? try BodyWriter(ferry, id, length: size) : nil
    try first?.write(Pattern.bytes(1000))
    let event = try ferry.challengeEvent(of: id)
    try ferry.answer(event.decision, LoginAnswer.use("alice", "s3cret:ü"))
    if isStream {
      _ = try ferry.decisionEvent(of: id, "task.needNewBodyStream", after: event.id ?? 0)
      #expect(try ferry.put(Pattern.bytes(size), to: id).status == 204)
      // The client is still sending the first body.
      first?.client.socket.shutdownWrites()
    }
    #expect(try ferry.end(of: id)["error"] == .null)
    #expect(try ferry.body(of: id) == Array("\(size) true".utf8))
    #expect(origin.requests.count == 2)
  }
}
