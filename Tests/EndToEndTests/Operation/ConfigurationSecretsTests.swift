import Foundation
import JSON
import TestSupport
import Testing

/// Named configurations and cookies keep their secrets across restarts and key rotations.
@Suite(.serialized, .blocking) final class ConfigurationSecretsTests {
  private let directory = TemporaryDirectory.make("ferry-configurations")
  private static let header = "planted-header-93b1"
  private static let password = "planted-proxy-93b1"
  private static let cookie = "planted-cookie-93b1"
  private static var forms: [String] {
    let plain = [header, password, cookie, "alice:\(password)"]
    return plain + plain.map { Data($0.utf8).base64EncodedString() }
  }
  private let origin = TestOrigin { request, socket in
    let isUnknown = request.path.hasPrefix("http://") && request["Proxy-Authorization"] == nil
    let fields = isUnknown ? [("Proxy-Authenticate", "Basic realm=\"p\"")] : []
    try socket.write(TestOrigin.reply(isUnknown ? "407 Who" : "200 OK", [], fields))
    return true
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  /// Creates a named configuration whose proxy is the origin itself, which therefore sees the proxy's credentials.
  private func name(_ ferry: FerryProcess) throws -> HTTPReply {
    try ferry.call(
      "POST", "/v1/configurations",
      """
      {"name":"secret","configuration":{"httpAdditionalHeaders":{"Authorization":"Bearer \(Self.header)","X-A":"1"},
       "proxies":{"http":"http://alice:\(Self.password)@127.0.0.1:\(origin.port)"}}}
      """, [("Idempotency-Key", "named")])
  }

  /// Expects that a new session with the named configuration works, and returns all replies that clients see.
  private func use(_ ferry: FerryProcess) throws -> String {
    let made = try ferry.call("POST", "/v1/sessions", #"{"configuration":{"named":"secret"}}"#)
    #expect(made.status == 201)
    #expect(try ferry.run("http://named.test/", session: made.json.id)["error"] == .null)
    let login = Data("alice:\(Self.password)".utf8).base64EncodedString()
    #expect(origin.requests.last?["Authorization"] == "Bearer \(Self.header)")
    #expect(origin.requests.last?["Proxy-Authorization"] == "Basic \(login)")
    let shown = try [
      made, ferry.call("GET", "/v1/configurations"), ferry.call("GET", "/v1/configurations/secret"),
      ferry.call("GET", "/v1/sessions/\(made.json.id)"), name(ferry),
      ferry.call(
        "PUT", "/v1/configurations/other", #"{"httpAdditionalHeaders":{"Proxy-Authorization":"x"}}"#),
    ]
    return shown.map(\.text).joined(separator: "\n")
  }

  private func expectSilence(_ text: String, _ place: String) {
    for form in Self.forms { #expect(!text.contains(form), "in \(place)") }
  }

  private func expectSilenceOnDisk() {
    for name in FileManager.default.enumerator(atPath: directory)?.compactMap({ $0 as? String }) ?? [] {
      let data = FileManager.default.contents(atPath: directory + "/" + name) ?? Data()
      for form in Self.forms { #expect(data.range(of: Data(form.utf8)) == nil, "in \(name)") }
    }
  }

  @Test func `configurations and cookies keep their secrets and still work`() throws {
    var ferry = try FerryProcess(directory: directory)
    let made = try name(ferry)
    #expect(made.status == 201)
    let configuration = made.json["configuration"]
    #expect(configuration?["httpAdditionalHeaders"]?.text == #"{"Authorization":"(redacted)","X-A":"1"}"#)
    #expect(configuration?["proxies"]?["http"]?.string == "http://127.0.0.1:\(origin.port)")
    let session = try ferry.session()
    let cookie = #"{"name":"c","value":"\#(Self.cookie)","domain":"127.0.0.1"}"#
    #expect(try ferry.call("PUT", "/v1/sessions/\(session)/cookies", cookie).status == 200)
    let text = try use(ferry)
    expectSilence(text, "replies")
    ferry.kill()
    expectSilenceOnDisk()
    for rotation in [nil, [], ["--drop-old"]] as [[String]?] {
      if let rotation { try rotate(rotation) }
      ferry = try FerryProcess(directory: directory)
      // Without the old key, Ferry cannot recognise the repeated request.
      if rotation != ["--drop-old"] { #expect(try name(ferry).body == made.body) }
      expectSilence(try use(ferry), "replies")
      #expect(try ferry.cookies(of: session) == ["c=\(Self.cookie)"])
      #expect(try ferry.run(origin.url, session: session)["error"] == .null)
      #expect(origin.requests.last?["Cookie"] == "c=\(Self.cookie)")
      ferry.kill()
      expectSilenceOnDisk()
    }
  }

  private func rotate(_ options: [String]) throws {
    let result = try FerryCommand.run(["rotate-key", "--data-directory", directory] + options)
    try #require(result.status == 0, "\(result.output)")
  }

  @Test func `configurations are kept without sessions`() throws {
    var ferry = try FerryProcess(directory: directory)
    #expect(
      try ferry.call("PUT", "/v1/configurations/a", #"{"bodyRetention":5}"#).status == 201)
    #expect(try ferry.call("PUT", "/v1/configurations/b", "{}").status == 201)
    #expect(try ferry.call("DELETE", "/v1/configurations/b").status == 204)
    let before = try ferry.call("GET", "/v1/configurations").text
    ferry.kill()
    ferry = try FerryProcess(directory: directory)
    #expect(try ferry.call("GET", "/v1/configurations").text == before)
    let taken = try ferry.call("POST", "/v1/sessions", #"{"configuration":{"named":"a"}}"#)
    #expect(taken.json["configuration"]?["bodyRetention"]?.double == 5)
    ferry.kill()
  }
}
