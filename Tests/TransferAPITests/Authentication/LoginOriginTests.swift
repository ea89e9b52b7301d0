import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Credentials are sent to the origin that they belong to, and to no other origin.
@Suite(.serialized, .blocking, .sharing) struct LoginOriginTests {
  private let place: InProcessAPI
  private let first: TestOrigin
  private let second: TestOrigin
  private static let realm = #"Basic realm="one for all""#

  init() throws {
    place = try .ofSuite()
    let links = Links()
    (first, second) = (Self.origin("alice:first-s3cret", links), Self.origin("bob:second-s3cret", links))
    links.set(first.port, second.port)
  }

  private final class Links: Sendable {
    private let ports = Mutex((0, 0))
    func set(_ first: Int, _ second: Int) { ports.withLock { $0 = (first, second) } }
    /// Replaces `$first` and `$second` by the hosts and ports of the origins.
    func fill(_ text: String) -> String {
      let (first, second) = ports.withLock { $0 }
      return text.replacing("$first", with: "127.0.0.1:\(first)")
        .replacing("$second", with: "127.0.0.1:\(second)")
    }
  }

  private static func basic(_ login: String) -> String {
    "Basic " + Data(login.utf8).base64EncodedString()
  }

  /// Makes an origin that asks for the login at `/closed…` and redirects to the URL in the query at `/to…`.
  /// `/closed/to…` does both.
  private static func origin(_ login: String, _ links: Links) -> TestOrigin {
    TestOrigin { request, socket in
      if request.path.hasPrefix("/closed"), request["Authorization"] != basic(login) {
        let fields = [("WWW-Authenticate", realm)]
        try socket.write(TestOrigin.reply("401 Unauthorized", Array("no".utf8), fields))
      } else if let target = request.path.split(separator: "?", maxSplits: 1).dropFirst().first {
        let fields = [("Location", links.fill(String(target)))]
        try socket.write(TestOrigin.reply("302 Found", [], fields))
      } else {
        try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
      }
      return true
    }
  }

  private func session(asks: Bool = true) throws -> String {
    try place.session(delegate: asks ? InProcessAPI.asksForLogin : "null")
  }

  /// Returns the path and the `Authorization` of each request that an origin received.
  private func shown(_ origin: TestOrigin) -> [String] {
    origin.requests.map { "\($0.path.prefix { $0 != "?" }) \($0["Authorization"] ?? "-")" }
  }

  private func checkThatNothingWentAstray() {
    #expect(!first.requests.contains { $0["Authorization"] == Self.basic("bob:second-s3cret") })
    #expect(!second.requests.contains { $0["Authorization"] == Self.basic("alice:first-s3cret") })
  }

  // MARK: Redirects

  /// The chain visits the first origin, the second, and the first again. Each origin asks for its own login, and a
  /// stored login is reused.
  @Test(arguments: ["none", "forSession", "permanent"]) func `redirect carries no login to another origin`(
    _ persistence: String
  ) throws {
    let session = try session()
    let chain = "/closed/to?http://$second/closed/to?http://$first/closed/end"
    let id = try place.create(first.url + chain, session: session)
    var answers = [("alice", "first-s3cret", first.port), ("bob", "second-s3cret", second.port)]
    // A credential without persistence has to be asked for again.
    if persistence == "none" { answers.append(answers[0]) }
    var sequence: Int64 = 0
    for (user, password, port) in answers {
      let event = try place.challengeEvent(of: id, after: sequence)
      sequence = event.id ?? 0
      #expect(event.data["protectionSpace"]?["port"]?.integer == Int64(port))
      #expect(event.data["previousFailureCount"]?.integer == 0)
      #expect(event.data["proposedCredential"] == .null)
      try place.answer(event.decision, LoginAnswer.use(user, password, persistence))
    }
    let task = try place.end(of: id)
    #expect(task.status == 200 && task["currentRequest"]?["url"]?.string == first.url + "/closed/end")
    let (alice, bob) = (Self.basic("alice:first-s3cret"), Self.basic("bob:second-s3cret"))
    let again = persistence == "none" ? ["/closed/end -"] : []
    #expect(shown(first) == ["/closed/to -", "/closed/to \(alice)"] + again + ["/closed/end \(alice)"])
    #expect(shown(second) == ["/closed/to -", "/closed/to \(bob)"])
    checkThatNothingWentAstray()
  }

  /// An origin without a challenge receives no credential.
  @Test func `open origin in a redirect chain receives no credential`() throws {
    let session = try session()
    let answers = [LoginAnswer.use("alice", "first-s3cret", "forSession")]
    let chain = "/closed/to?http://$second/to?http://$first/closed/end"
    let task = try place.run(first.url + chain, in: session, answers: answers)
    #expect(task.status == 200)
    #expect(
      shown(second) == ["/to -"] && shown(first).last == "/closed/end " + Self.basic("alice:first-s3cret"))
    // A separate task does not send it either.
    #expect(try place.run(second.url + "/open", session: session).status == 200)
    #expect(shown(second).last == "/open -")
  }

  /// The hosts are equal, but the ports or schemes differ, so the protection spaces differ.
  @Test func `stored credential is not proposed at another origin`() throws {
    for asks in [true, false] {
      let session = try session(asks: asks)
      for host in ["127.0.0.1", "localhost"] {
        let space = #"{"host":"\#(host)","port":\#(first.port),"protocol":"http"}"#
        let credential = #"{"user":"alice","password":"first-s3cret"}"#
        let body = #"{"protectionSpace":\#(space),"credential":\#(credential)}"#
        #expect(try place.call("PUT", "/v1/sessions/\(session)/credentials", body).status == 200)
      }
      for path in ["/closed/end", "/to?http://$second/closed/end"] {
        let url = path.hasPrefix("/to") ? first.url + path : second.url + path
        let id = try place.create(url, session: session)
        if asks {
          let event = try place.challengeEvent(of: id)
          #expect(event.data["proposedCredential"] == .null)
          try place.answer(event.decision, LoginAnswer.byDefault)
        }
        #expect(try place.end(of: id).status == 401)
      }
    }
    #expect(!shown(second).isEmpty && shown(second).allSatisfy { $0.hasSuffix(" -") })
    checkThatNothingWentAstray()
  }

  // MARK: Credentials in URLs

  private func checkThatNobodyTells(_ session: String, _ secrets: [String]) throws {
    let list = try place.call("GET", "/v1/sessions/\(session)/tasks").json["items"]?.elements ?? []
    for id in list.map(\.id) {
      var texts = [try place.task(id).text, try place.metrics(of: id).text]
      texts += try place.story(of: id).map(\.json.text)
      for secret in secrets { #expect(!texts.contains { $0.contains(secret) }, "\(secret)") }
    }
    let decisions = try place.call("GET", "/v1/sessions/\(session)/decisions").text
    let stored = try place.call("GET", "/v1/sessions/\(session)/credentials").text
    for secret in secrets { #expect(!decisions.contains(secret) && !stored.contains(secret)) }
  }

  @Test(arguments: ["data", "download"]) func `URL credential needs no decision`(_ kind: String) throws {
    let session = try session(asks: false)
    let url = first.url.replacing("://", with: "://alice:first%2Ds3cret@") + "/closed/end"
    let body = #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(url)"}}"#
    let created = try place.call("POST", "/v1/sessions/\(session)/tasks", body)
    #expect(created.status == 201 && !created.text.contains("s3cret"))
    let task = try place.end(of: created.json.id)
    #expect(task.status == 200 && task["originalRequest"]?["url"]?.string == first.url + "/closed/end")
    #expect(shown(first) == ["/closed/end -", "/closed/end " + Self.basic("alice:first-s3cret")])
    try checkThatNobodyTells(session, ["first-s3cret", "first%2Ds3cret"])
    // The credential belongs to the task alone.
    #expect(try place.run(first.url + "/closed/end", session: session).status == 401)
  }

  @Test func `credential of a URL is proposed to the delegate`() throws {
    for (password, status) in [("first-s3cret", Int64(200)), ("wrong-s3cret", 401)] {
      let session = try session()
      let url = first.url.replacing("://", with: "://alice:\(password)@") + "/closed/end"
      let id = try place.create(url, session: session)
      let event = try place.challengeEvent(of: id)
      #expect(event.data["proposedCredential"]?.text == #"{"user":"alice"}"#)
      try place.answer(event.decision, LoginAnswer.byDefault)
      if status == 401 {
        let second = try place.challengeEvent(of: id, after: event.id ?? 0)
        #expect(second.data["previousFailureCount"]?.integer == 1)
        #expect(second.data["proposedCredential"]?.text == #"{"user":"alice"}"#)
        try place.answer(second.decision, LoginAnswer.byDefault)
      }
      #expect(try place.end(of: id).status == status)
      try checkThatNobodyTells(session, [password])
    }
  }

  @Test(arguments: [true, false]) func `credential of a redirect is for its target`(_ asks: Bool) throws {
    let delegate = #"{"sessionChallenges":"default","taskChallenges":"default","redirects":"ask"}"#
    let session = asks ? try place.session(delegate: delegate) : try session(asks: false)
    let own = first.url.replacing("://", with: "://alice:first-s3cret@")
    let id = try place.create(
      own + "/closed/to?http://bob:second-s3cret@$second/closed/end", session: session)
    if asks {
      let event = try place.decisionEvent(of: id)
      #expect(event.data["request"]?["url"]?.string == second.url + "/closed/end")
      try place.answer(event.decision, #"{"request":\#(event.data["request"]?.text ?? "")}"#)
    }
    let task = try place.end(of: id)
    #expect(task.status == 200 && task["currentRequest"]?["url"]?.string == second.url + "/closed/end")
    #expect(shown(second).last == "/closed/end " + Self.basic("bob:second-s3cret"))
    checkThatNothingWentAstray()
    try checkThatNobodyTells(session, ["first-s3cret"])
  }

  /// The credential is absent from the response's header fields too.
  @Test func `location is shown without its credential`() throws {
    let delegate = #"{"sessionChallenges":"default","taskChallenges":"default","redirects":"ask"}"#
    let session = try place.session(delegate: delegate)
    let asking = TestOrigin { [port = second.port] _, socket in
      let location = "http://bob:second-s3cret@127.0.0.1:\(port)/closed/end"
      try socket.write(TestOrigin.reply("302 Found", [], [("Location", location)]))
      return true
    }
    for answer in ["null", "proposed"] {
      let id = try place.create(asking.url + "/", session: session)
      let event = try place.decisionEvent(of: id)
      let headers = event.data["response"]?["headers"]
      #expect(headers?["Location"]?.string == second.url + "/closed/end")
      try place.answer(
        event.decision, #"{"request":\#(answer == "null" ? answer : event.data["request"]?.text ?? "")}"#)
      #expect(try place.end(of: id).status == (answer == "null" ? 302 : 200))
    }
    try checkThatNobodyTells(session, ["second-s3cret"])
  }
}
