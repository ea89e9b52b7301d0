import Glibc
import JSON
import TestSupport
import Testing

/// Webhook endpoints are verified like origins.
@Suite(.serialized, .blocking) struct WebhookTLSTests {
  private let nginx: NginxServer
  init() throws { nginx = try NginxServer() }

  /// Runs a task whose completion message goes to `url`.
  private func complete(_ ferry: FerryProcess, _ url: String) throws {
    let target = nginx.url(.plain, "/hello.txt")
    let body =
      #"{"kind":"data","resume":true,"request":{"url":"\#(target)"},"completion":{"webhook":{"url":"\#(url)"}}}"#
    let task = try ferry.call(
      "POST", "/v1/sessions/ses_shared/tasks", body, [("Prefer", Patience.preference)]
    ).json
    #expect(task["error"] == .null)
  }

  /// Tries the endpoint and then a good one, and expects that only the good one received a message.
  private func expectNothing(_ ferry: FerryProcess, _ face: NginxServer.Site, then good: NginxServer.Site)
    throws
  {
    let relay = TCPRelay(to: nginx.port(face))
    try complete(ferry, "https://127.0.0.1:\(relay.port)/bad")
    try complete(ferry, nginx.url(good, "/good"))
    let posts = { nginx.log().filter { $0.hasPrefix("POST") } }
    Patience.wait { posts().isEmpty || relay.connections == 0 }
    #expect(relay.connections > 0)
    #expect(Set(posts().map { $0.split(separator: " ")[1] }) == ["/good"])
  }

  @Test(arguments: [NginxServer.Site.expired, .notYetValid, .wrongHost, .selfSigned, .unknownRoot])
  func `endpoint with a bad certificate gets no message`(_ face: NginxServer.Site) throws {
    try expectNothing(FerryProcess(options: ["--ca-file", nginx.authorityFile]), face, then: .good)
  }

  @Test func `endpoint is not trusted without its authority`() throws {
    try expectNothing(FerryProcess(), .good, then: .plain)
  }
}
