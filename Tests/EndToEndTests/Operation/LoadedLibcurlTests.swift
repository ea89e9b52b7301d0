import Glibc
import JSON
import TestSupport
import Testing

/// Ferry works with every libcurl that it supports, reports its version, and survives responses that break some
/// versions.
@Suite(.serialized, .blocking) struct LoadedLibcurlTests {
  /// With `/folded`, libcurl freed memory twice if the handle had received another response before (curl #11103).
  private let origin = TestOrigin { request, socket in
    try socket.write(
      request.path.hasSuffix("/folded")
        ? Array("HTTP/1.1 200 OK\r\n f: f\r\nContent-Length: 2\r\n\r\nok".utf8)
        : TestOrigin.reply("200 OK", Array("well".utf8), [("X-A", "b")]))
    return true
  }

  @Test func `worker loads the libcurl of the service`() throws {
    let place = try BackgroundFixture()
    let task = try place.ferry.create(origin.url + "/well", session: try place.session())
    #expect(try place.ferry.end(of: task)["error"] == .null)
    #expect(place.worker.log.contains(#""libcurl":"\#(place.ferry.libcurl)""#))
  }

  @Test func `folded first header field harms no transfer`() throws {
    let ferry = try FerryProcess()
    let proxied = try ferry.session(#"{"proxies":{"http":"\#(origin.url)"}}"#)
    for session in [try ferry.session(FerryProcess.uncached), proxied] {
      for _ in 0..<15 {
        #expect(try ferry.run(origin.url + "/well", session: session)["error"] == .null)
        // Depending on its version, libcurl refuses the response or ignores the leading space.
        let folded = try ferry.run(origin.url + "/folded", session: session)
        #expect(folded["body"]?["size"]?.integer == 2 || folded.errorCode == -1017, "\(folded.text)")
      }
    }
  }

  @Test func `folded first header field harms no webhook`() throws {
    let ferry = try FerryProcess()
    for round in 1...10 {
      for path in ["/hook", "/hook/folded"] {
        let body = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/well"}"#
        let completion = #","completion":{"webhook":{"url":"\#(origin.url)\#(path)"}}}"#
        #expect(try ferry.call("POST", "/v1/tasks", body + completion).status == 201)
        // A message whose reply libcurl refuses is delivered again later.
        let heard = { origin.requests.filter { $0.path == path }.count }
        Patience.wait { heard() < round }
        #expect(heard() >= round)
      }
    }
  }
}
