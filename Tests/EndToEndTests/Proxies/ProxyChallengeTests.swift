import Foundation
import JSON
import TestSupport
import Testing

/// Proxies that authenticate their clients: the 407 of a request, and of the CONNECT before a tunnel.
@Suite(.serialized, .blocking, .sharing) struct ProxyChallengeTests {
  private let apache: ApacheServer
  private let ferry: FerryProcess
  private let authority: String
  private static let login = Login(user: SquidProxy.user, password: SquidProxy.password)

  init() throws {
    apache = try ApacheServer(hasHTTP2: false)
    ferry = try .ofSuite()
    authority = JSONValue.string(try CertificateKit.shared().authority).text
  }

  private func session(_ proxy: String, isSilent: Bool = false, asks: Bool = true) throws -> String {
    let proxies = #"{"http":"\#(proxy)","https":"\#(proxy)"}"#
    let timeout = isSilent ? 2 : 60
    let delegate =
      #"{"sessionChallenges":"default","taskChallenges":"ask","decisionTimeout":\#(timeout)}"#
    return try ferry.session(
      #"{"proxies":\#(proxies),"tlsAdditionalRootCertificates":\#(authority)}"#,
      delegate: asks ? delegate : "{}")
  }

  private func url(_ face: ApacheServer.Face, _ shape: ChallengedTask.Shape, in folder: String = "open")
    -> String
  {
    apache.url(face, "/\(folder)/" + (shape.isUpload ? "put" : "hello.txt"))
  }

  private func gatekeeper(
    _ squid: SquidProxy, _ authentication: SquidProxy.Authentication, _ face: ApacheServer.Face
  ) -> ChallengeExpectation {
    let scheme = authentication == .basic ? "Basic" : "Digest"
    return ChallengeExpectation(
      method: "NSURLAuthenticationMethodHTTP\(scheme)", port: squid.port, realm: "squid realm", isProxy: true,
      status: 407, error: face == .plain ? nil : -1013)
  }

  private func checkContents(_ task: ChallengedTask, _ shape: ChallengedTask.Shape, _ at: Comment) throws {
    if shape.isUpload {
      #expect(apache.uploaded("put") == ChallengedTask.upload, at)
    } else {
      #expect(try task.body() == NginxServer.contents(5000), at)
    }
  }

  struct Way: Sendable, CustomTestStringConvertible {
    let authentication: SquidProxy.Authentication
    let face: ApacheServer.Face
    var testDescription: String { "\(authentication), \(face)" }
    static let all = [SquidProxy.Authentication.basic, .digest].flatMap { authentication in
      ApacheServer.Face.allCases.map { Way(authentication: authentication, face: $0) }
    }
  }

  @Test(arguments: Way.all, ChallengedTask.Shape.allCases)
  func `task is challenged for the proxy`(_ way: Way, _ shape: ChallengedTask.Shape) throws {
    let squid = try SquidProxy(way.authentication)
    let gatekeeper = gatekeeper(squid, way.authentication, way.face)
    for play in AnswerScript.all {
      let task = try ChallengedTask(
        ferry, shape, url(way.face, shape), session: session(squid.url, isSilent: play.isSilent))
      try task.perform(play, Self.login, before: gatekeeper)
      let at: Comment = "\(play.testDescription)"
      if play.outcome == .allowed { try checkContents(task, shape, at) }
      if play.outcome == .refused, way.face == .plain { #expect(try !task.body().isEmpty, at) }
    }
    // The origin saw only the allowed requests, without the proxy's credentials.
    let allowed = AnswerScript.all.filter { $0.outcome == .allowed }.count
    let line = "\(shape.isUpload ? "PUT /open/put 201" : "GET /open/hello.txt 200") -"
    #expect(apache.log(atLeast: allowed) == Array(repeating: line, count: allowed))
    #expect(apache.proxyFields(atLeast: allowed).allSatisfy { $0 == "-" })
    let method = way.face == .secure ? "CONNECT" : shape.isUpload ? "PUT" : "GET"
    // Squid also logs connections that end without another request.
    let log = squid.log(atLeast: AnswerScript.all.count)
    #expect(log.allSatisfy { $0.hasPrefix(method + " ") }, "\(log)")
  }

  /// A correct credential is sent to the proxy without a challenge from then on, with a nonce count for Digest.
  @Test(arguments: Way.all) func `credential for the session is reused`(_ way: Way) throws {
    let squid = try SquidProxy(way.authentication)
    let session = try session(squid.url)
    var login = Self.login
    login.persistence = "forSession"
    let first = try ChallengedTask(ferry, .data, url(way.face, .data), session: session)
    try ferry.answer(#require(try first.challenge()).decision, login.answer())
    #expect(try first.end()["response"]?["status"]?.integer == 200)
    for shape in ChallengedTask.Shape.allCases {
      let task = try ChallengedTask(ferry, shape, url(way.face, shape), session: session)
      let end = try task.end()
      #expect(end["error"] == .null && task.count("task.needNewBodyStream") == (shape.isStream ? 1 : 0))
      try checkContents(task, shape, "\(shape)")
    }
    let log = squid.log(atLeast: way.face == .plain ? 7 : 1)
    #expect(log.filter { $0.contains(" 407 ") }.count == 1)
    if way.authentication == .digest, way.face == .plain {
      for count in 1...6 { #expect(log.contains { $0.contains("nc=0000000\(count)") }) }
    }
    let other = try ChallengedTask(
      ferry, .data, url(way.face, .data), session: self.session(squid.url))
    #expect(try other.challenge() != nil)
  }

  // MARK: Existing credentials

  @Test(arguments: Way.all) func `credentials in the URL are used, not shown`(_ way: Way) throws {
    let squid = try SquidProxy(way.authentication)
    let proxy = "http://\(SquidProxy.user):\(SquidProxy.password)@127.0.0.1:\(squid.port)"
    for asks in [true, false] {
      let session = try session(proxy, asks: asks)
      let shown = try ferry.call("GET", "/v1/sessions/\(session)")
      #expect(!shown.text.contains(SquidProxy.password) && !shown.text.contains(SquidProxy.user))
      #expect(shown.json["configuration"]?["proxies"]?["http"]?.string == squid.url)
      guard !asks else {
        // As in URLSession, the credential is proposed, and default handling uses it.
        let task = try ChallengedTask(ferry, .data, url(way.face, .data), session: session)
        let event = try #require(try task.challenge())
        #expect(event.data["proposedCredential"]?["user"]?.string == SquidProxy.user)
        #expect(event.data["previousFailureCount"]?.integer == 0)
        try ferry.answer(event.decision, #"{"disposition":"performDefaultHandling"}"#)
        #expect(try task.end()["response"]?["status"]?.integer == 200)
        continue
      }
      for shape in ChallengedTask.Shape.allCases {
        let task = try ChallengedTask(ferry, shape, url(way.face, shape), session: session)
        #expect(try task.end()["error"] == .null)
        try checkContents(task, shape, "\(shape)")
      }
    }
    #expect(apache.proxyFields().allSatisfy { $0 == "-" })
  }

  @Test(arguments: Way.all) func `stored credentials are used`(_ way: Way) throws {
    let squid = try SquidProxy(way.authentication)
    let session = try session(squid.url, asks: false)
    let path = "/v1/sessions/\(session)/credentials"
    for isProxy in [false, true] {
      let space =
        #"{"host":"127.0.0.1","port":\#(squid.port),"protocol":"http","isProxy":\#(isProxy)}"#
      var login = Self.login
      login.persistence = "permanent"
      let entry = #"{"protectionSpace":\#(space),"credential":\#(login.json())}"#
      #expect(try ferry.call("PUT", path, entry).status == 200)
      for shape in ChallengedTask.Shape.allCases {
        let task = try ChallengedTask(ferry, shape, url(way.face, shape), session: session)
        let end = try task.end()
        // A credential for a server at that address does not serve the proxy.
        guard isProxy else {
          let isTunnel = way.face == .secure
          #expect(end.errorCode == (isTunnel ? -1013 : nil), "\(end.text)")
          #expect(end["response"]?["status"]?.integer == (isTunnel ? nil : 407), "\(end.text)")
          continue
        }
        #expect(end["error"] == .null, "\(end.text)")
        try checkContents(task, shape, "\(shape)")
      }
    }
    #expect(try ferry.call("DELETE", path + "?isProxy=true").status == 204)
    // An open tunnel stays open.
    guard way.face == .plain else { return }
    let end = try ferry.run(url(.plain, .data), kind: "data", session: session)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 407, "\(end.text)")
  }

  /// One task is challenged by the proxy and by the server, each for its own credential.
  @Test(arguments: Way.all, ChallengedTask.Shape.allCases)
  func `proxy and server challenge one after the other`(_ way: Way, _ shape: ChallengedTask.Shape) throws {
    let squid = try SquidProxy(way.authentication)
    let task = try ChallengedTask(
      ferry, shape, url(way.face, shape, in: "basic"), session: session(squid.url))
    let origin = Login(user: ApacheServer.user, password: ApacheServer.basicPassword)
    for (login, isProxy, failures) in [
      (Self.login, true, 0), (origin, false, 0), (origin, false, 1),
    ] {
      let event = try #require(try task.challenge(), "\(task.events.last?.json.text ?? "")")
      let space = event.data["protectionSpace"]
      #expect(space?["isProxy"]?.bool == isProxy, "\(event.json.text)")
      #expect(space?["realm"]?.string == (isProxy ? "squid realm" : "basic realm"))
      #expect(event.data["failureResponse"]?["status"]?.integer == (isProxy ? 407 : 401))
      #expect(event.data["previousFailureCount"]?.integer == Int64(failures))
      try ferry.answer(event.decision, login.answer(isRight: isProxy || failures == 1))
    }
    #expect(try task.end()["response"]?["status"]?.integer == (shape.isUpload ? 201 : 200))
    try checkContents(task, shape, "\(way)")
    checkWhoSawWhat(squid, origin, way)
  }

  private func checkWhoSawWhat(_ squid: SquidProxy, _ origin: Login, _ way: Way) {
    let right = Data("\(origin.user):\(origin.password)".utf8).base64EncodedString()
    let requests = apache.log(atLeast: 3)
    #expect(requests.count == 3 && requests.last?.hasSuffix("Basic \(right)") == true)
    #expect(apache.proxyFields(atLeast: 3).allSatisfy { $0 == "-" })
    // A tunnel may be reused, but each plain request sends the proxy's credential again.
    let log = squid.log(atLeast: way.face == .plain ? 4 : 1)
    #expect(!log.joined().contains(right))
    if way.face == .plain { #expect(log.filter { !$0.hasSuffix(" -") }.count == 3) }
  }
}
