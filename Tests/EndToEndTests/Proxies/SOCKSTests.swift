import JSON
import TestSupport
import Testing

/// SOCKS 5 proxies, which resolve names and may require a user and password.
@Suite(.serialized, .blocking, .sharing) struct SOCKSTests {
  private let apache: ApacheServer
  private let ferry: FerryProcess
  private let authority: String
  private static let login = Login(user: SOCKSProxy.user, password: SOCKSProxy.password)

  init() throws {
    apache = try ApacheServer(hasHTTP2: false)
    ferry = try .ofSuite()
    authority = JSONValue.string(try CertificateKit.shared().authority).text
  }

  private func session(_ proxy: String, timeout: Int = 60, asks: Bool = true) throws -> String {
    let delegate =
      #"{"sessionChallenges":"default","taskChallenges":"ask","decisionTimeout":\#(timeout)}"#
    return try ferry.session(
      #"{"proxies":{"socks5":"\#(proxy)"},"tlsAdditionalRootCertificates":\#(authority)}"#,
      delegate: asks ? delegate : "{}")
  }

  private func url(_ face: ApacheServer.Face, _ shape: ChallengedTask.Shape) -> String {
    apache.url(face, "/open/" + (shape.isUpload ? "put" : "hello.txt"))
  }

  private func checkContents(_ task: ChallengedTask, _ shape: ChallengedTask.Shape, _ at: Comment) throws {
    if shape.isUpload {
      #expect(apache.uploaded("put") == ChallengedTask.upload, at)
    } else {
      #expect(try task.body() == NginxServer.contents(5000), at)
    }
  }

  @Test(arguments: ApacheServer.Face.allCases, ChallengedTask.Shape.allCases)
  func `open proxy needs no credential and resolves the name`(
    _ face: ApacheServer.Face, _ shape: ChallengedTask.Shape
  ) throws {
    let socks = try SOCKSProxy()
    let session = try session("socks5://127.0.0.1:\(socks.port)")
    let task = try ChallengedTask(ferry, shape, url(face, shape), session: session)
    let end = try task.end()
    #expect(end["response"]?["status"]?.integer == (shape.isUpload ? 201 : 200), "\(end.text)")
    try checkContents(task, shape, "\(face)")
    let host = url(face, shape).split(separator: "/")[1]
    #expect(host.hasPrefix("localhost:"))
    let log = socks.log(atLeast: 1)
    #expect(log.contains { $0.hasSuffix("connected to \(host)") }, "\(log)")
  }

  @Test(arguments: ApacheServer.Face.allCases, ChallengedTask.Shape.allCases)
  func `task is challenged for the proxy`(_ face: ApacheServer.Face, _ shape: ChallengedTask.Shape) throws {
    let socks = try SOCKSProxy(authenticates: true)
    let gatekeeper = ChallengeExpectation(
      method: "NSURLAuthenticationMethodDefault", port: socks.port, protocolName: "socks5", isProxy: true,
      error: -1013)
    for play in AnswerScript.all {
      let session = try session("socks5://127.0.0.1:\(socks.port)", timeout: play.isSilent ? 2 : 60)
      let task = try ChallengedTask(ferry, shape, url(face, shape), session: session)
      try task.perform(play, Self.login, before: gatekeeper)
      if play.outcome == .allowed { try checkContents(task, shape, "\(play.testDescription)") }
    }
    let allowed = AnswerScript.all.filter { $0.outcome == .allowed }.count
    #expect(apache.log(atLeast: allowed).count == allowed)
  }

  /// Credentials in the URL or in the storage are used without a challenge.
  @Test(arguments: [true, false]) func `known credential is used`(_ isInURL: Bool) throws {
    let socks = try SOCKSProxy(authenticates: true)
    let user = isInURL ? "\(SOCKSProxy.user):\(SOCKSProxy.password)@" : ""
    let session = try session("socks5h://\(user)127.0.0.1:\(socks.port)", asks: isInURL)
    let shown = try ferry.call("GET", "/v1/sessions/\(session)")
    #expect(!shown.text.contains(SOCKSProxy.user) && !shown.text.contains(SOCKSProxy.password))
    if !isInURL {
      let space = #"{"host":"127.0.0.1","port":\#(socks.port),"protocol":"socks5","isProxy":true}"#
      var login = Self.login
      login.persistence = "forSession"
      let entry = #"{"protectionSpace":\#(space),"credential":\#(login.json())}"#
      #expect(try ferry.call("PUT", "/v1/sessions/\(session)/credentials", entry).status == 200)
    }
    for face in ApacheServer.Face.allCases {
      for shape in ChallengedTask.Shape.allCases {
        let task = try ChallengedTask(ferry, shape, url(face, shape), session: session)
        let end = try task.end()
        #expect(end["error"] == .null, "\(end.text)")
        try checkContents(task, shape, "\(face)")
      }
    }
  }

  @Test func `credential for the session is reused`() throws {
    let socks = try SOCKSProxy(authenticates: true)
    let session = try session("socks5://127.0.0.1:\(socks.port)")
    var login = Self.login
    login.persistence = "forSession"
    let first = try ChallengedTask(ferry, .data, url(.plain, .data), session: session)
    try ferry.answer(#require(try first.challenge()).decision, login.answer())
    #expect(try first.end()["response"]?["status"]?.integer == 200)
    for shape in ChallengedTask.Shape.allCases {
      let task = try ChallengedTask(ferry, shape, url(.secure, shape), session: session)
      #expect(try task.end()["error"] == .null)
      #expect(task.count("task.needNewBodyStream") == (shape.isStream ? 1 : 0))
      try checkContents(task, shape, "\(shape)")
    }
  }

  /// A wrong credential in the URL is refused, and the delegate may answer with another.
  @Test func `wrong credential in the URL is challenged`() throws {
    let socks = try SOCKSProxy(authenticates: true)
    let session = try session("socks5://\(SOCKSProxy.user):wrong@127.0.0.1:\(socks.port)")
    let task = try ChallengedTask(ferry, .data, url(.plain, .data), session: session)
    let event = try #require(try task.challenge())
    #expect(event.data["previousFailureCount"]?.integer == 1)
    #expect(event.data["proposedCredential"]?["user"]?.string == SOCKSProxy.user)
    try ferry.answer(event.decision, Self.login.answer())
    #expect(try task.end()["response"]?["status"]?.integer == 200)
  }

  @Test func `unreachable origin is a failed connection`() throws {
    let socks = try SOCKSProxy()
    let session = try session("socks5://127.0.0.1:\(socks.port)")
    for url in ["http://127.0.0.1:1/", "https://localhost:1/"] {
      #expect(try ferry.run(url, session: session).errorCode == -1004)
    }
  }
}
