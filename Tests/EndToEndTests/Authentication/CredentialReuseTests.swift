import Foundation
import JSON
import TestSupport
import Testing

/// Credentials that a session stores (`URLCredentialStorage`), with real servers.
@Suite(.serialized, .blocking, .sharing) struct CredentialReuseTests {
  private let servers: LoginServers
  private let home: Home
  private var ferry: FerryProcess { home.ferry }

  /// A data directory that is used by one service after another.
  private final class Home {
    let path = TemporaryDirectory.make("ferry-credentials")
    let options: [String]
    private(set) var ferry: FerryProcess

    init(_ options: [String]) throws {
      self.options = options
      ferry = try FerryProcess(directory: path, options: options)
    }

    deinit {
      ferry.kill()
      try? FileManager.default.removeItem(atPath: path)
    }

    /// Kills the service with SIGKILL and starts another.
    func restart() throws {
      ferry.kill()
      ferry = try FerryProcess(directory: path, options: options)
    }
  }

  init() throws {
    servers = try LoginServers()
    home = try Shared.one(uses: 20) { try Home(["--ca-file", AuthorityFile.ofSuite().path]) }
  }

  private func session(_ configuration: String = "{}", asks: Bool = true) throws -> String {
    try ferry.session(configuration, delegate: asks ? FerryProcess.asksForLogin : "null")
  }

  private func url(_ place: ProtectedResource, _ name: String) -> String {
    servers.url(place, "hello.txt?" + name)
  }

  private func logIn(_ place: ProtectedResource, _ session: String, _ persistence: String, _ name: String)
    throws
  {
    let answer = LoginAnswer.use(place.user, place.password, persistence)
    #expect(try ferry.run(url(place, name), in: session, answers: [answer]).status == 200)
  }

  /// Returns the log lines of the requests for `name`, without method and target.
  private func seen(_ place: ProtectedResource, _ name: String, _ count: Int) -> [String] {
    servers.log(place, of: "?\(name) ", atLeast: count).map { line in
      line.split(separator: " ", maxSplits: 2).dropFirst(2).joined()
    }
  }

  private func put(_ place: ProtectedResource, _ session: String, password: String, _ rest: String = "")
    throws
    -> HTTPReply
  {
    let port = URL(string: servers.url(place, ""))?.port ?? 0
    let space =
      #"{"host":"localhost","port":\#(port),"protocol":"\#(place.isSecure ? "https" : "http")""#
      + #","realm":"\#(place.realm)","authenticationMethod":"\#(place.method)"}"#
    let credential = #"{"user":"\#(place.user)","password":"\#(password)"\#(rest)}"#
    return try ferry.call(
      "PUT", "/v1/sessions/\(session)/credentials",
      #"{"protectionSpace":\#(space),"credential":\#(credential)}"#)
  }

  private func stored(_ session: String) throws -> [JSONValue] {
    try ferry.call("GET", "/v1/sessions/\(session)/credentials").json["items"]?.elements ?? []
  }

  // MARK: Stored answers

  @Test(arguments: ProtectedResource.all, ["forSession", "permanent"])
  func `next task sends the stored answer unasked`(_ place: ProtectedResource, _ persistence: String) throws {
    let (own, other) = (try session(), try session())
    try logIn(place, own, persistence, "first")
    for name in ["second", "third"] {
      let task = try ferry.run(url(place, name), session: own)
      #expect(task.status == 200 && task["error"] == .null)
      let seen = seen(place, name, 1)
      #expect(seen.count == 1 && seen[0].hasPrefix("200 " + place.shown(place.user, place.password)))
    }
    if place.isDigest {
      #expect(seen(place, "second", 1)[0].contains("nc=00000002"))
      #expect(seen(place, "third", 1)[0].contains("nc=00000003"))
    }
    // Other sessions do not have the credential.
    let id = try ferry.create(url(place, "other"), session: other)
    #expect(try ferry.challengeEvent(of: id).data["proposedCredential"] == .null)
    #expect(seen(place, "other", 1) == ["401 -"])
    #expect(try stored(other).isEmpty)
    let entry = try #require(try stored(own).first)
    #expect(entry["protectionSpace"]?["realm"]?.string == place.realm)
    #expect(entry["credential"]?["user"]?.string == place.user)
    #expect(entry["credential"]?["persistence"]?.string == persistence)
    #expect(!entry.text.contains(place.password))
  }

  @Test(arguments: ProtectedResource.all) func `persistence none stores nothing`(_ place: ProtectedResource)
    throws
  {
    let session = try session()
    for name in ["first", "second"] {
      try logIn(place, session, "none", name)
      let seen = seen(place, name, 2)
      #expect(seen.count == 2 && seen[0] == "401 -")
    }
    #expect(try stored(session).isEmpty)
  }

  @Test(arguments: ProtectedResource.all, [true, false])
  func `permanent credential survives a restart`(_ place: ProtectedResource, _ asks: Bool) throws {
    let (session, fleeting) = (try session(asks: asks), try session(asks: asks))
    if asks {
      try logIn(place, session, "permanent", "first")
      try logIn(place, fleeting, "forSession", "first")
    } else {
      let reply = try put(place, session, password: place.password, #","persistence":"permanent""#)
      #expect(reply.status == 200)
      #expect(try put(place, fleeting, password: place.password).status == 200)
    }
    try home.restart()
    #expect(try stored(session).map { $0["credential"]?["user"]?.string } == ["alice"])
    #expect(try stored(fleeting).isEmpty)
    let id = try ferry.create(url(place, "second"), session: session)
    if asks {
      let event = try ferry.challengeEvent(of: id)
      #expect(event.data["proposedCredential"]?["user"]?.string == "alice")
      #expect(event.data["previousFailureCount"]?.integer == 0)
      try ferry.answer(event.decision, LoginAnswer.byDefault)
    }
    #expect(try ferry.end(of: id).status == 200)
    #expect(try ferry.body(of: id) == NginxServer.contents(5000))
    let lost = try ferry.create(url(place, "lost"), session: fleeting)
    if asks { try ferry.answer(ferry.challengeEvent(of: lost).decision, LoginAnswer.reject) }
    #expect(try ferry.end(of: lost).status == 401)
    #expect(try !isOnDisk(place.password))
  }

  /// Whether any file of the data directory contains the text.
  private func isOnDisk(_ text: String) throws -> Bool {
    let names = try FileManager.default.subpathsOfDirectory(atPath: home.path)
    #expect(!names.isEmpty)
    return names.contains { name in
      let data = FileManager.default.contents(atPath: home.path + "/" + name) ?? Data()
      return data.range(of: Data(text.utf8)) != nil
    }
  }

  // MARK: Credentials stored in advance

  @Test(arguments: ProtectedResource.all) func `stored credential is proposed to the delegate`(
    _ place: ProtectedResource
  ) throws {
    let session = try session()
    let reply = try put(place, session, password: place.password)
    #expect(reply.status == 200 && !reply.text.contains(place.password))
    let id = try ferry.create(url(place, "asked"), session: session)
    let event = try ferry.challengeEvent(of: id)
    #expect(event.data["proposedCredential"]?.text == #"{"user":"alice"}"#)
    #expect(event.data["previousFailureCount"]?.integer == 0)
    try ferry.answer(event.decision, LoginAnswer.byDefault)
    #expect(try ferry.end(of: id).status == 200)
    #expect(seen(place, "asked", 2).first == "401 -")
  }

  @Test func `stored credential is used after the decision timeout`() throws {
    let delegate = #"{"sessionChallenges":"default","taskChallenges":"ask","decisionTimeout":0.3}"#
    let session = try ferry.session(delegate: delegate)
    for place in ProtectedResource.all {
      #expect(try put(place, session, password: place.password).status == 200)
      let id = try ferry.create(url(place, "late"), session: session)
      #expect(try ferry.end(of: id).status == 200)
      #expect(try ferry.story(of: id).filter { $0.type == "task.didReceiveChallenge" }.count == 1)
    }
  }

  @Test(arguments: ProtectedResource.all) func `stored credential is used with no event`(
    _ place: ProtectedResource
  ) throws {
    let session = try session(asks: false)
    #expect(try put(place, session, password: place.password).status == 200)
    for (name, count) in [("first", 2), ("second", 1)] {
      let id = try ferry.create(url(place, name), session: session)
      let story = try ferry.story(of: id)
      #expect(!story.contains { $0.type.hasSuffix("Challenge") })
      #expect(try ferry.task(id).status == 200)
      #expect(seen(place, name, count).count == count)
    }
  }

  @Test(arguments: ProtectedResource.all) func `wrong credential counts as failure`(
    _ place: ProtectedResource
  ) throws {
    let asking = try session()
    #expect(try put(place, asking, password: "wrong").status == 200)
    let id = try ferry.create(url(place, "asked"), session: asking)
    let first = try ferry.challengeEvent(of: id)
    try ferry.answer(first.decision, LoginAnswer.byDefault)
    let second = try ferry.challengeEvent(of: id, after: first.id ?? 0)
    #expect(second.data["previousFailureCount"]?.integer == 1)
    #expect(second.data["proposedCredential"]?["user"]?.string == "alice")
    // Default handling does not send a refused credential again.
    try ferry.answer(second.decision, LoginAnswer.byDefault)
    #expect(try ferry.end(of: id).status == 401)
    #expect(seen(place, "asked", 2).count == 2)
    let silent = try session(asks: false)
    #expect(try put(place, silent, password: "wrong").status == 200)
    #expect(try ferry.run(url(place, "silent"), session: silent).status == 401)
    let lines = seen(place, "silent", 2)
    #expect(lines.count == 2 && lines[0] == "401 -" && lines[1].hasPrefix("401 " + place.scheme))
  }

  @Test(arguments: ProtectedResource.all) func `deleted credential is requested again`(
    _ place: ProtectedResource
  ) throws {
    let session = try session()
    try logIn(place, session, "permanent", "first")
    let list = "/v1/sessions/\(session)/credentials"
    #expect(try ferry.call("DELETE", list + "?host=elsewhere").status == 204)
    #expect(try ferry.run(url(place, "second"), session: session).status == 200)
    #expect(try ferry.call("DELETE", list + "?host=localhost").status == 204)
    #expect(try stored(session).isEmpty)
    let id = try ferry.create(url(place, "third"), session: session)
    let event = try ferry.challengeEvent(of: id)
    #expect(event.data["proposedCredential"] == .null)
    #expect(event.data["previousFailureCount"]?.integer == 0)
    #expect(seen(place, "third", 1) == ["401 -"])
    try ferry.answer(event.decision, LoginAnswer.use(place.user, place.password))
    #expect(try ferry.end(of: id).status == 200)
  }

  @Test func `session without credential storage stores nothing`() throws {
    for (index, place) in ProtectedResource.all.enumerated() {
      let session = try session(#"{"urlCredentialStorage":false}"#)
      for name in ["first\(index)", "second\(index)"] {
        try logIn(place, session, "permanent", name)
        #expect(seen(place, name, 2).count == 2)
      }
      #expect(try stored(session).isEmpty)
      let reply = try put(place, session, password: place.password)
      #expect(reply.status == 409 && reply["Content-Type"] == "application/problem+json")
    }
  }
}
