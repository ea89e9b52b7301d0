import Foundation
import JSON
import TestSupport
import Testing

/// The cookies that clients store are not readable on disk.
@Suite(.serialized, .blocking) struct CookieSecrecyTests {
  @Test func `cookies are not readable on disk`() throws {
    let directory = TemporaryDirectory.make("ferry-cookies")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let secret = "eyJhbGciOiJIUzI1NiJ9.cookie-4f8a11"
    let forms = [secret, Data(secret.utf8).base64EncodedString(), "Basic \(secret)"]
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    var session = ""
    for round in 0..<2 {
      let ferry = try FerryProcess(directory: directory, options: ["--log-level", "trace"])
      if round == 0 {
        session = try ferry.session()
        let cookie = #"{"name":"token","value":"\#(secret)","domain":"127.0.0.1"}"#
        _ = try ferry.call("PUT", "/v1/sessions/\(session)/cookies", cookie)
      }
      #expect(try ferry.run(origin.url, session: session)["error"] == .null)
      #expect(origin.requests.last?["Cookie"] == "token=\(secret)")
      #expect(try ferry.cookies(of: session) == ["token=\(secret)"])
      ferry.kill()
      #expect(!String(decoding: ferry.log, as: UTF8.self).contains(secret))
      for name in FileManager.default.enumerator(atPath: directory)?.compactMap({ $0 as? String }) ?? [] {
        let data = FileManager.default.contents(atPath: directory + "/" + name) ?? Data()
        for form in forms { #expect(data.range(of: Data(form.utf8)) == nil, "\(name)") }
      }
    }
  }
}
