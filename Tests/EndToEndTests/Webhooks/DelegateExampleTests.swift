import JSON
import TestSupport
import Testing

/// The receivers of `examples` that answer decisions, so that they are delegates.
@Suite(.serialized, .blocking, .sharing) struct DelegateExampleTests {
  private static let languages: [ExampleProgram.Language] = [.python, .typescript]

  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    let body = Array(request.path.utf8)
    let isLoggedIn = request["Authorization"] == "Basic YWxpY2U6d29uZGVybGFuZA=="
    switch request.path {
    case "/hop":
      try socket.write(TestOrigin.reply("302 Found", body, [("Location", "/private")]))
    case "/away":
      try socket.write(TestOrigin.reply("302 Found", body, [("Location", "http://localhost:1/")]))
    case "/private" where !isLoggedIn:
      try socket.write(
        TestOrigin.reply("401 Unauthorized", body, [("WWW-Authenticate", #"Basic realm="home""#)]))
    case "/archive":
      try socket.write(TestOrigin.reply("200 OK", body, [("Content-Type", "application/zip")]))
    default: try socket.write(TestOrigin.reply("200 OK", body, [("Content-Type", "text/plain")]))
    }
    return true
  }

  init() throws { ferry = try .ofSuite() }

  /// Starts the example. It listens on the port of the returned process.
  private func delegate(_ language: ExampleProgram.Language, password: String = "wonderland") throws
    -> ServerProcess
  {
    try ExampleProgram(language: language, name: "receive_webhooks").server(["ORIGIN_PASSWORD": password])
  }

  /// Creates a session whose decisions the delegate makes.
  private func session(
    _ delegate: ServerProcess, secret: String = ExampleProgram.secret, timeout: Double = 60
  ) throws
    -> String
  {
    try ferry.session(
      delegate: #"{"taskChallenges":"ask","redirects":"ask","responses":"ask","decisionTimeout":\#(timeout),"#
        + #""webhook":{"url":"http://127.0.0.1:\#(delegate.ports[0])/","secret":"\#(secret)","answers":true}}"#
    )
  }

  @Test(arguments: languages)
  func `delegate follows the redirect and logs in`(_ language: ExampleProgram.Language) throws {
    let delegate = try delegate(language)
    let id = try ferry.create(origin.url + "/hop", session: session(delegate))
    let task = try ferry.end(of: id)
    #expect(task["error"] == .null && task.status == 200)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").text == "/private")
    #expect(origin.requests.map(\.path) == ["/hop", "/private", "/private"])
    withExtendedLifetime(delegate) {}
  }

  @Test(arguments: languages)
  func `delegate cancels after a refused password`(_ language: ExampleProgram.Language) throws {
    let delegate = try delegate(language, password: "guess")
    let id = try ferry.create(origin.url + "/private", session: session(delegate))
    #expect(try ferry.end(of: id).errorCode == -999)
    #expect(origin.requests.count == 2)
    withExtendedLifetime(delegate) {}
  }

  @Test(arguments: languages)
  func `delegate refuses the redirect to another host`(_ language: ExampleProgram.Language) throws {
    let delegate = try delegate(language)
    let id = try ferry.create(origin.url + "/away", session: session(delegate))
    let task = try ferry.end(of: id)
    #expect(task["error"] == .null && task.status == 302)
    withExtendedLifetime(delegate) {}
  }

  @Test(arguments: languages)
  func `delegate turns an archive into a download`(_ language: ExampleProgram.Language) throws {
    let delegate = try delegate(language)
    let id = try ferry.create(origin.url + "/archive", session: session(delegate))
    let task = try ferry.poll("/v1/tasks/\(id)") { $0["downloadTaskId"]?.string != nil }
    let download = try #require(task["downloadTaskId"]?.string)
    #expect(try ferry.end(of: download)["error"] == .null)
    #expect(try ferry.call("GET", "/v1/tasks/\(download)/body").text == "/archive")
    withExtendedLifetime(delegate) {}
  }

  @Test(arguments: languages)
  func `delegate refuses a message with another signature`(_ language: ExampleProgram.Language) throws {
    let delegate = try delegate(language)
    let other = "whsec_bm90IHRoZSBkZWxlZ2F0ZSdzIHNlY3JldA=="
    let id = try ferry.create(
      origin.url + "/away", session: session(delegate, secret: other, timeout: 0.5))
    let deliveries = try ferry.poll("/v1/webhooks/deliveries?task=\(id)") {
      $0["items"]?.elements?.first?["attempts"]?.elements?.isEmpty == false
    }
    let attempt = deliveries["items"]?.elements?.first?["attempts"]?.elements?.first
    #expect(attempt?["status"]?.integer == 401)
    _ = try ferry.end(of: id)
    withExtendedLifetime(delegate) {}
  }
}
