import JSON
import TestSupport
import Testing

/// Answers that come while the client of a streamed upload is still sending, or has stopped to.
@Suite(.serialized, .blocking) struct EarlyAnswerTests {
  /// nginx refuses who shows no certificate as soon as it has the head.
  @Test(arguments: [false, true]) func theTaskEndsAlthoughTheBodyDoesNot(_ asks: Bool) throws {
    let fixture = try HandshakeFixture(hasHTTP2: false)
    let session = try fixture.ferry.session(delegate: asks ? HandshakeFixture.asking : "null")
    let task = try fixture.start(.streamedUpload, .asksForCertificate, in: session)
    if asks {
      let trust = try fixture.challenge(task)
      try fixture.answer(trust, HandshakeFixture.trust)
      let certificate = try fixture.challenge(task, after: trust.id ?? 0)
      try fixture.answer(certificate, HandshakeFixture.byDefault)
    }
    let end = try fixture.ferry.end(of: task.id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 400)
  }

  @Test func aRefusalOfTheRestIsTheResult() throws {
    let ferry = try FerryProcess()
    let origin = TestOrigin(readsBodies: false) { _, socket in
      try socket.write(TestOrigin.reply("413 Too much", Array("stop".utf8)))
      return true
    }
    let id = try ferry.create(
      origin.url + "/", kind: "upload", request: #","method":"PUT","body":{"stream":true}"#)
    let writer = try BodyWriter(ferry, id, length: nil)
    try writer.write(Pattern.bytes(10))
    let end = try ferry.end(of: id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 413)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").text == "stop")
  }
}
