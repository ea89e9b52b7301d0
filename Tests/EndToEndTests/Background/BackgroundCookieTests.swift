import Dispatch
import Foundation
import JSON
import TestSupport
import Testing

/// The cookies of a background session. Responses change them in the worker, and clients change them through the
/// service.
@Suite(.serialized, .blocking) struct BackgroundCookieTests {
  private let answered: DispatchSemaphore
  private let origin: TestOrigin
  private let place: BackgroundFixture
  private let session: String

  init() throws {
    let answered = DispatchSemaphore(value: 0)
    origin = TestOrigin { request, socket in
      let isEcho = request.path == "/echo"
      let cookie = isEcho ? [] : [("Set-Cookie", "q=\(request.path.dropFirst()); Path=/")]
      try socket.write(TestOrigin.reply("200 OK", Array((request["Cookie"] ?? "").utf8), cookie))
      if !isEcho { answered.signal() }
      return true
    }
    self.answered = answered
    place = try BackgroundFixture()
    session = try place.session()
  }

  private var path: String { "/v1/sessions/\(session)/cookies" }

  private func put(_ value: String) throws -> HTTPReply {
    try place.ferry.call("PUT", path, #"{"name":"q","value":"\#(value)","url":"\#(origin.url)/"}"#)
  }

  /// Returns the `Cookie` field that requests send now.
  private func sent() throws -> String {
    let id = try place.ferry.runInBackground(origin.url + "/echo", kind: "data", session: session).id
    return try place.ferry.call("GET", "/v1/tasks/\(id)/body").text
  }

  private func listIs(_ sent: String) throws -> Bool {
    let wanted = sent.isEmpty ? [] : [sent]
    return try Patience.wait { try place.ferry.cookies(of: session) != wanted }
  }

  /// The last writer wins. The listed cookies are the ones that requests send, also after both processes restart.
  @Test(arguments: ["PUT", "DELETE"]) func `both processes agree on cookies`(_ method: String) throws {
    for round in 0..<15 {
      let id = try place.ferry.create(origin.url + "/w\(round)", kind: "data", session: session)
      answered.wait()
      let reply =
        try method == "PUT" ? put("c\(round)") : place.ferry.call("DELETE", path + "?name=q")
      #expect(reply.status == (method == "PUT" ? 200 : 204))
      _ = try place.ferry.end(of: id)
      let sent = try sent()
      #expect(["", "q=w\(round)", "q=c\(round)"].contains(sent))
      #expect(try listIs(sent), "the cookie list differs from the sent cookie \(sent)")
    }
    let last = try sent()
    kill(try #require(place.worker.pid), SIGKILL)
    #expect(try sent() == last && listIs(last))
    place.stop(SIGKILL)
    try place.start()
    #expect(try listIs(last) && sent() == last)
  }

  @Test func `stored cookie is sent and a deleted one is not`() throws {
    #expect(try put("1").status == 200 && sent() == "q=1")
    #expect(try put("2").json["value"]?.string == "2" && sent() == "q=2")
    #expect(try place.ferry.call("DELETE", path + "?name=other").status == 204 && sent() == "q=2")
    #expect(try place.ferry.call("DELETE", path + "?domain=127.0.0.1").status == 204 && sent() == "")
    #expect(try put("3").status == 200)
    #expect(try place.ferry.call("POST", "/v1/sessions/\(session)/reset").status / 100 == 2)
    #expect(try sent() == "" && listIs(""))
  }

  /// A change is not lost although no worker is running.
  @Test func `cookie stored without a worker is kept`() throws {
    #expect(try put("1").status == 200 && sent() == "q=1")
    place.stop(SIGKILL)
    kill(try #require(place.worker.pid), SIGKILL)
    try place.start()
    #expect(try put("2").status == 200)
    place.stop(SIGKILL)
    try place.start()
    #expect(try sent() == "q=2" && listIs("q=2"))
  }
}
