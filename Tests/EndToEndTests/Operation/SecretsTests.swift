import Foundation
import JSON
import TestSupport
import Testing

/// Secrets appear in no reply, event, log or file of the data directory. They still work after a restart and a key
/// rotation.
@Suite(.serialized, .blocking) struct SecretsTests {
  /// The planted secrets. Each has a value of its own, so that a failure names the leaking path.
  private enum Planted: String, CaseIterable {
    case answered, rejected, stored, url, location, proxy, bearer, sessionHeader
    case cookie, key, named, sessionCookie, sessionKey, sessionNamed, setCookie, jar
    var text: String { "planted-\(rawValue)-8c41d7" }
    /// The secret in plain text, and in the forms that clients and servers use.
    var forms: [String] {
      [text, Data("alice:\(text)".utf8).base64EncodedString(), Data(text.utf8).base64EncodedString()]
    }
  }
  private static let webhookSecret = "whsec_cGxhbnRlZC13ZWJob29rLXNlY3JldC04YzQxZDc="

  /// Requires a password below `/basic/`. `/moved` redirects there, with credentials in the URL.
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/moved":
      let location = "http://alice:\(Planted.location.text)@\(request["Host"] ?? "")/basic/location"
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", location)]))
    case let path where path.hasPrefix("/basic/"):
      let name = String(path.dropFirst(7))
      let wanted = Data("alice:planted-\(name)-8c41d7".utf8).base64EncodedString()
      if request["Authorization"] == "Basic \(wanted)" {
        try socket.write(TestOrigin.reply("200 OK", Array("welcome".utf8)))
      } else {
        let challenge = ("WWW-Authenticate", "Basic realm=\"\(name)\"")
        try socket.write(TestOrigin.reply("401 Unauthorized", Array("who?".utf8), [challenge]))
      }
    case "/elsewhere":
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/open")]))
    case "/open":
      let cookie = ("Set-Cookie", "s=\(Planted.setCookie.text)")
      try socket.write(TestOrigin.reply("200 OK", Array("open".utf8), [cookie]))
    default: try socket.write(TestOrigin.reply("200 OK", Array("open".utf8)))
    }
    return true
  }

  /// A client that records each byte it receives.
  private final class Client {
    let ferry: FerryProcess
    private(set) var seen: [UInt8] = []
    init(_ ferry: FerryProcess) { self.ferry = ferry }

    func call(_ method: String, _ path: String, _ body: String? = nil) throws -> JSONValue {
      let reply = try ferry.call(method, path, body)
      seen += Array("\(reply.fields)".utf8) + reply.body
      return reply.json
    }

    func run(_ url: String, in session: String, request: String = "") throws -> String {
      let body = #"{"kind":"data","resume":true,"request":{"url":"\#(url)"\#(request)}}"#
      return try call("POST", "/v1/sessions/\(session)/tasks", body).id
    }

    func status(of task: String) throws -> Int64? {
      let stream = try ferry.events("/v1/tasks/\(task)/events?after=0").read(upTo: "task.didComplete")
      for event in stream { seen += event.data.json }
      return try call("GET", "/v1/tasks/\(task)")["response"]?["status"]?.integer
    }
  }

  private func session(_ client: Client, _ more: String = "") throws -> String {
    try client.call(
      "POST", "/v1/sessions",
      """
      {"configuration":{"proxies":{"https":"http://alice:\(Planted.proxy.text)@127.0.0.1:9"},
        "secretHeaderFields":["x-named"],
        "httpAdditionalHeaders":{"Proxy-Authorization":"Bearer \(Planted.sessionHeader.text)",
         "Cookie":"a=\(Planted.sessionCookie.text)","X-Api-Key":"\(Planted.sessionKey.text)",
         "X-Named":"\(Planted.sessionNamed.text)"}},
       "delegate":{"taskChallenges":"ask","redirects":"ask",
        "webhook":{"url":"\(origin.url)/hook","secret":"\(Self.webhookSecret)",
        "events":["task.didComplete","task.didReceiveChallenge","task.willPerformHTTPRedirection"]}}\(more)}
      """
    ).id
  }

  private static let fields = """
    "headers":{"Authorization":"Bearer \(Planted.bearer.text)","Cookie":"a=\(Planted.cookie.text)",
     "X-API-KEY":"\(Planted.key.text)","X-Named":"\(Planted.named.text)"}
    """

  /// Expects that the origin received all secret header fields at `path`.
  private func expectFields(_ path: String) {
    let request = origin.requests.last { $0.path == path }
    #expect(request?["Authorization"] == "Bearer \(Planted.bearer.text)")
    #expect(request?["Cookie"]?.contains("a=\(Planted.cookie.text)") == true)
    #expect(request?["X-Api-Key"] == Planted.key.text)
    #expect(request?["X-Named"] == Planted.named.text)
  }

  /// Answers a redirect with the proposed request, whose secret fields are redaction marks.
  private func redirect(_ client: Client, in session: String) throws {
    let task = try client.run("\(origin.url)/elsewhere", in: session, request: "," + Self.fields)
    let question = try client.ferry.decisionEvent(of: task, "task.willPerformHTTPRedirection")
    _ = try client.call("GET", "/v1/decisions/\(question.decision)")
    let shown = try #require(question.data["request"]?["headers"])
    for name in ["Authorization", "Cookie", "X-API-KEY", "X-Named"] {
      #expect(shown[name]?.string == "(redacted)", "\(name)")
    }
    let answer =
      #"{"request":{"url":"\#(origin.url)/open","headers":\#(String(decoding: shown.json, as: UTF8.self))}}"#
    _ = try client.call("POST", "/v1/decisions/\(question.decision)", answer)
    #expect(try client.status(of: task) == 200)
    expectFields("/open")
  }

  /// Plants secrets in a background session, whose tasks run in the worker.
  private func plantElsewhere(_ client: Client) throws {
    let session = try session(client, #","type":"background","identifier":"secrets""#)
    let task = try client.run("\(origin.url)/open", in: session, request: "," + Self.fields)
    #expect(try client.status(of: task) == 200)
    expectFields("/open")
    let plain = try client.run("\(origin.url)/plain", in: session)
    #expect(try client.status(of: plain) == 200)
    let request = origin.requests.last { $0.path == "/plain" }
    #expect(request?["X-Named"] == Planted.sessionNamed.text)
    #expect(request?["X-Api-Key"] == Planted.sessionKey.text)
    try lookAround(client, session)
  }

  /// Plants a cookie that the service adds to a request. The task's metrics must not show it.
  private func plantInJar(_ client: Client) throws {
    let session = try client.call("POST", "/v1/sessions", "{}").id
    let cookie = #"{"name":"j","value":"\#(Planted.jar.text)","domain":"127.0.0.1"}"#
    #expect(try client.ferry.call("PUT", "/v1/sessions/\(session)/cookies", cookie).status == 200)
    let task = try client.run("\(origin.url)/jar", in: session)
    #expect(try client.status(of: task) == 200)
    let request = origin.requests.last { $0.path == "/jar" }
    #expect(request?["Cookie"]?.contains("j=\(Planted.jar.text)") == true)
    _ = try client.call("GET", "/v1/tasks/\(task)/metrics")
  }

  private func answer(_ task: String, _ client: Client, _ secret: Planted, _ persistence: String) throws {
    let question = try client.ferry.decisionEvent(of: task, "task.didReceiveChallenge")
    let credential = #"{"user":"alice","password":"\#(secret.text)","persistence":"\#(persistence)"}"#
    let body = #"{"disposition":"useCredential","credential":\#(credential)}"#
    _ = try client.call("POST", "/v1/decisions/\(question.decision)", body)
    _ = try client.call("GET", "/v1/decisions/\(question.decision)")
  }

  /// Plants all secrets, and returns the session and a suspended task.
  private func plant(_ client: Client) throws -> (session: String, suspended: String) {
    let session = try session(client)
    let answered = try client.run("\(origin.url)/basic/answered", in: session)
    try answer(answered, client, .answered, "permanent")
    #expect(try client.status(of: answered) == 200)
    let rejected = try client.run("\(origin.url)/basic/other", in: session)
    try answer(rejected, client, .rejected, "permanent")
    let again = try client.ferry.decisionEvent(of: rejected, "task.didReceiveChallenge", after: 0)
    _ = try client.call("GET", "/v1/decisions/\(again.decision)")
    _ = try client.call("POST", "/v1/tasks/\(rejected)/cancel")
    let space = #"{"host":"127.0.0.1","port":\#(origin.port),"protocol":"http","realm":"stored"}"#
    let stored = #"{"user":"alice","password":"\#(Planted.stored.text)","persistence":"permanent"}"#
    _ = try client.call(
      "PUT", "/v1/sessions/\(session)/credentials", #"{"protectionSpace":\#(space),"credential":\#(stored)}"#)
    #expect(try client.status(of: client.run("\(origin.url)/moved", in: "ses_shared")) == 200)
    #expect(
      try client.status(of: client.run("\(origin.url)/open", in: session, request: "," + Self.fields)) == 200)
    try redirect(client, in: session)
    let url = "http://alice:\(Planted.url.text)@127.0.0.1:\(origin.port)/basic/url"
    let suspended = try client.call(
      "POST", "/v1/sessions/ses_shared/tasks",
      """
      {"kind":"data","request":{"url":"\(url)","headers":{"Proxy-Authorization":"Bearer \(Planted.bearer.text)",
        "X-Api-Key":"\(Planted.key.text)"}},
       "completion":{"webhook":{"url":"\(origin.url)/hook","secret":"\(Self.webhookSecret)"}}}
      """
    ).id
    return (session, suspended)
  }

  private func lookAround(_ client: Client, _ session: String) throws {
    for path in [
      "/v1/sessions", "/v1/sessions/\(session)", "/v1/sessions/\(session)/tasks",
      "/v1/sessions/ses_shared/tasks",
      "/v1/sessions/\(session)/decisions", "/v1/sessions/\(session)/credentials",
    ] { _ = try client.call("GET", path) }
  }

  /// Returns the names of the secrets that `bytes` contains.
  private func leaks(in bytes: [UInt8]) -> [String] {
    let data = Data(bytes)
    var found = Planted.allCases.filter { secret in
      secret.forms.contains { data.range(of: Data($0.utf8)) != nil }
    }.map(\.rawValue)
    if data.range(of: Data(Self.webhookSecret.dropFirst(6).utf8)) != nil { found.append("webhook") }
    return found
  }

  private func files(under directory: String) -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in FileManager.default.enumerator(atPath: directory)?.compactMap({ $0 as? String }) ?? [] {
      if let data = FileManager.default.contents(atPath: directory + "/" + name) { files[name] = Array(data) }
    }
    return files
  }

  @Test func `secrets appear in no reply, log or file`() throws {
    let ferry = try FerryProcess(options: ["--log-level", "trace"])
    let client = Client(ferry)
    let (session, _) = try plant(client)
    try lookAround(client, session)
    try plantInJar(client)
    try plantElsewhere(client)
    // A cookie that the origin sets is part of the response, which the tenant may read. Only there is it shown.
    #expect(leaks(in: client.seen) == [Planted.setCookie.rawValue], "secrets in replies and events")
    for hook in origin.requests.filter({ $0.path == "/hook" }) {
      #expect(
        leaks(in: hook.body).filter { $0 != Planted.setCookie.rawValue } == [], "secrets in a webhook message"
      )
    }
    ferry.kill()
    #expect(leaks(in: ferry.log) == [], "secrets in the log")
    let files = files(under: ferry.directory)
    #expect(files.keys.contains("ferry.db"))
    for (name, bytes) in files { #expect(leaks(in: bytes) == [], "in \(name)") }
  }

  @Test func `secrets still work after a restart and a key rotation`() throws {
    let directory = TemporaryDirectory.make("ferry-secrets")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let first = Client(try FerryProcess(directory: directory))
    let (session, suspended) = try plant(first)
    let text = String(repeating: Planted.bearer.text, count: 5000)
    let large = try first.call(
      "POST", "/v1/sessions/ses_shared/tasks",
      #"{"kind":"data","request":{"url":"\#(origin.url)/large","method":"PUT","body":{"text":"\#(text)"}}}"#
    ).id
    first.ferry.kill()
    let key = try String(contentsOfFile: directory + "/secret-key", encoding: .utf8)
    try rotate(directory, "--drop-old")
    #expect(try String(contentsOfFile: directory + "/secret-key", encoding: .utf8) != key)
    let mode = try FileManager.default.attributesOfItem(atPath: directory + "/secret-key")[.posixPermissions]
    #expect(mode as? Int == 0o600)

    let second = Client(try FerryProcess(directory: directory))
    #expect(try second.ferry.act("resume", suspended) == "running")
    #expect(try second.status(of: suspended) == 200, "the credentials of the URL survive a restart")
    #expect(try second.ferry.act("resume", large) == "running")
    _ = try second.status(of: large)
    #expect(origin.requests.last { $0.path == "/large" }.map { $0.body == Array(text.utf8) } == true)
    let answered = try second.run("\(origin.url)/basic/answered", in: session)
    try expectProposal("alice", of: answered, second)
    let stored = try second.run("\(origin.url)/basic/stored", in: session)
    try expectProposal("alice", of: stored, second)
    let hooks = origin.requests.filter { $0.path == "/hook" }
    #expect(hooks.allSatisfy { $0["webhook-signature"]?.hasPrefix("v1,") == true })
    #expect(
      origin.requests.last { $0.path == "/basic/url" }?["Proxy-Authorization"]
        == "Bearer \(Planted.bearer.text)")
    #expect(origin.requests.last { $0.path == "/basic/url" }?["X-Api-Key"] == Planted.key.text)
    second.ferry.kill()
    for (name, bytes) in files(under: directory) { #expect(leaks(in: bytes) == [], "in \(name)") }
  }

  /// The directory is readable for all users, the umask restricts nothing, and existing files are open to all.
  @Test func `files are readable for their owner only`() throws {
    let directory = TemporaryDirectory.make("ferry-modes")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
    let wrapper = ["sh", "-c", "umask 0; exec \"$@\"", "sh"]
    for _ in 0..<2 {
      let ferry = try FerryProcess(directory: directory, wrapper: wrapper)
      let body = #"{"type":"background","identifier":"a","delegate":{}}"#
      let session = try ferry.call("POST", "/v1/sessions", body).json.id
      #expect(try ferry.runInBackground("\(origin.url)/open", session: session)["error"] == .null)
      try expectPrivate(directory)
      ferry.kill()
      try expectPrivate(directory)
      for name in try FileManager.default.contentsOfDirectory(atPath: directory)
      where !name.hasSuffix(".bell") {
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o777], ofItemAtPath: directory + "/" + name)
      }
    }
  }

  private func expectPrivate(_ directory: String) throws {
    let names = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
    #expect(names.contains("ferry.db-wal") && names.contains("bodies"))
    for name in names {
      guard let found = try? FileManager.default.attributesOfItem(atPath: directory + "/" + name) else {
        continue
      }
      let mode = found[.posixPermissions] as? Int ?? 0
      #expect(mode & 0o077 == 0, "\(name): \(String(mode, radix: 8))")
    }
  }

  private func expectProposal(_ user: String, of task: String, _ client: Client) throws {
    let question = try client.ferry.decisionEvent(of: task, "task.didReceiveChallenge")
    #expect(question.data["proposedCredential"]?["user"]?.string == user)
    try client.ferry.answer(question.decision, #"{"disposition":"performDefaultHandling"}"#)
    #expect(try client.status(of: task) == 200)
  }

  private struct NoSuccess: Error {}

  @Test func `key rotation is refused while a service runs`() throws {
    let ferry = try FerryProcess()
    #expect(throws: NoSuccess.self) { try rotate(ferry.directory) }
    #expect(try ferry.call("GET", "/livez").status == 200)
  }

  @Test func `failed key rotation leaves the old key`() throws {
    let directory = TemporaryDirectory.make("ferry-secrets")
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try FerryProcess(directory: directory).kill()
    let key = try String(contentsOfFile: directory + "/secret-key", encoding: .utf8)
    for suffix in ["-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: directory + "/ferry.db" + suffix)
    }
    try Data(repeating: 0x78, count: 8192).write(to: URL(fileURLWithPath: directory + "/ferry.db"))
    for _ in 0..<2 { #expect(throws: NoSuccess.self) { try rotate(directory) } }
    #expect(try String(contentsOfFile: directory + "/secret-key", encoding: .utf8) == key)
  }

  private func rotate(_ directory: String, _ options: String...) throws {
    let result = try FerryCommand.run(["rotate-key", "--data-directory", directory] + options)
    guard result.status == 0 else { throw NoSuccess() }
  }
}
