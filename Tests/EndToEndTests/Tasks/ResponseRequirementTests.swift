import JSON
import TestSupport
import Testing

/// `failOnStatus` and `expected`, in the service and in the worker.
@Suite(.serialized, .blocking) struct ResponseRequirementTests {
  private let origin = TestOrigin { request, socket in
    try socket.write(
      request.path == "/gone"
        ? TestOrigin.reply("404 Not Found", Array("a page".utf8))
        : TestOrigin.reply("200 OK", Array("hello".utf8)))
    return true
  }
  private static let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

  @Test func `requirements hold in default and background sessions`() throws {
    let place = try BackgroundFixture()
    for session in try [place.ferry.session(), place.session("a")] {
      func run(_ path: String, _ members: String) throws -> JSONValue {
        let body =
          #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)\#(path)"},\#(members)}"#
        let reply = try place.ferry.call("POST", "/v1/sessions/\(session)/tasks", body)
        #expect(reply.status == 201)
        return try place.ferry.end(of: reply.json.id)
      }
      let whole = try run("/", #""expected":{"size":5,"sha256":"\#(Self.digest)"}"#)
      #expect(whole["error"] == .null && whole["body"]?["sha256"]?.string == Self.digest)
      let wrong = try run("/", #""expected":{"sha256":"\#(String(repeating: "0", count: 64))"}"#)
      #expect(wrong.errorCode == 5 && wrong["body"] == .null)
      let refused = try run("/gone", #""failOnStatus":true"#)
      #expect(refused.errorCode == 7 && refused.status == 404 && refused["body"] == .null)
    }
  }
}
