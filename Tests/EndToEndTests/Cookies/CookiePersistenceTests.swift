import Foundation
import JSON
import TestSupport
import Testing

/// Cookies live as long as their session, whatever happens to the service.
@Suite(.serialized, .blocking) final class CookiePersistenceTests {
  private let directory = TemporaryDirectory.make("ferry-cookies")
  private var ferry: FerryProcess
  private var origin: CookieOrigin

  init() throws {
    ferry = try FerryProcess(directory: directory)
    origin = CookieOrigin(ferry)
  }

  deinit {
    ferry.kill()
    try? FileManager.default.removeItem(atPath: directory)
  }

  private func restart() throws {
    ferry.kill()
    ferry = try FerryProcess(directory: directory)
    origin = CookieOrigin(ferry)
  }

  @Test func `cookies survive SIGKILL`() throws {
    let session = try ferry.session()
    try origin.set(
      "b=1; Path=/", "a=1; Max-Age=3600; HttpOnly; SameSite=Strict", "gone=1", "deep=1; Path=/deep",
      in: session)
    try origin.set("gone=; Max-Age=0", "b=2; Path=/", in: session)
    try origin.set("shared=1", in: "ses_shared")
    let before = try ferry.call("GET", "/v1/sessions/\(session)/cookies").text
    try restart()
    #expect(try ferry.call("GET", "/v1/sessions/\(session)/cookies").text == before)
    #expect(try origin.sent(to: "/deep", in: session) == "deep=1; b=2; a=1")
    #expect(try origin.sent(in: "ses_shared") == "shared=1")
    #expect(try ferry.call("DELETE", "/v1/sessions/\(session)/cookies?name=b").status == 204)
    try restart()
    #expect(try ferry.cookies(of: session) == ["a=1", "deep=1"])
  }

  @Test func `cookies are deleted with their session`() throws {
    let session = try ferry.session()
    try origin.set("a=1", in: session)
    let path = "/v1/sessions/\(session)"
    _ = try ferry.call("POST", path + "/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(try ferry.cookies(of: session) == ["a=1"])
    #expect(try ferry.call("DELETE", path).status == 204)
    #expect(try ferry.call("GET", path + "/cookies").status == 404)
    try restart()
    #expect(try ferry.call("GET", path + "/cookies").status == 404)
  }
}
