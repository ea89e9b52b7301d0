import JSON
import TestSupport
import Testing

/// nginx, a service, and tasks of every kind between them.
struct HandshakeFixture {
  enum Kind: String, CaseIterable, Sendable { case data, download, fileUpload, streamedUpload }
  struct Challenged {
    let kind: Kind
    let id: String
    let name: String
    let writer: BodyWriter?
  }

  static let trust = #"{"disposition":"useCredential","credential":{"trust":true}}"#
  static let cancel = #"{"disposition":"cancelAuthenticationChallenge"}"#
  static let reject = #"{"disposition":"rejectProtectionSpace"}"#
  static let byDefault = #"{"disposition":"performDefaultHandling"}"#
  static let asking = #"{"sessionChallenges":"ask"}"#
  static let impatient = #"{"sessionChallenges":"ask","decisionTimeout":0.4}"#
  static let event = "session.didReceiveChallenge"
  static let serverTrust = "NSURLAuthenticationMethodServerTrust"
  static let clientCertificate = "NSURLAuthenticationMethodClientCertificate"
  private static let body = Pattern.bytes(70_000)

  let nginx: NginxServer
  let ferry: FerryProcess
  let hasHTTP2: Bool

  /// - Parameters:
  ///   - trustsAuthority: Whether the service trusts the tests' certificate authority.
  ///   - isAlone: Whether the service belongs to this test alone and is not shared by the suite.
  init(hasHTTP2: Bool = true, trustsAuthority: Bool = true, isAlone: Bool = false) throws {
    self.hasHTTP2 = hasHTTP2
    nginx = try NginxServer(hasHTTP2: hasHTTP2)
    ferry =
      isAlone
      ? try FerryProcess(options: ["--ca-file", nginx.authorityFile])
      : try .ofSuite(trustsAuthority: trustsAuthority)
  }

  /// Returns a PEM text in the escaped form of a JSON string.
  static func escaped(_ pem: String) -> String { pem.replacing("\n", with: #"\n"#) }

  /// Returns a client's certificate and key as a credential.
  static func identity(_ leaf: CertificateKit.Leaf, persistence: String = "none") throws -> String {
    let kit = try CertificateKit.shared()
    let (certificate, key) = (escaped(kit.leaves[leaf] ?? ""), escaped(kit.key))
    return #"{"clientCertificate":"\#(certificate)","privateKey":"\#(key)","persistence":"\#(persistence)"}"#
  }

  /// Returns an answer with `identity(_:persistence:)` as its credential.
  static func certificate(_ leaf: CertificateKit.Leaf, persistence: String = "none") throws -> String {
    #"{"disposition":"useCredential","credential":\#(try identity(leaf, persistence: persistence))}"#
  }

  // MARK: Tasks

  func start(_ kind: Kind, _ face: NginxServer.Site, in session: String) throws -> Challenged {
    let name = "\(face)-\(kind)"
    let upload = nginx.url(face, "/put/" + name)
    switch kind {
    case .data, .download:
      let id = try ferry.create(nginx.url(face, "/hello.txt"), kind: kind.rawValue, session: session)
      return Challenged(kind: kind, id: id, name: name, writer: nil)
    case .fileUpload:
      let body = #","method":"PUT","body":{"file":"\#(try ferry.store(Self.body))"}"#
      let id = try ferry.create(upload, kind: "upload", session: session, request: body)
      return Challenged(kind: kind, id: id, name: name, writer: nil)
    case .streamedUpload:
      let body = #","method":"PUT","body":{"stream":true}"#
      let id = try ferry.create(upload, kind: "upload", session: session, request: body)
      let writer = try BodyWriter(ferry, id, length: nil)
      try writer.write(Self.body)
      return Challenged(kind: kind, id: id, name: name, writer: writer)
    }
  }

  /// Returns the first challenge of the task after event `sequence`.
  func challenge(_ task: Challenged, after sequence: Int64 = 0) throws -> EventReader.Event {
    try ferry.decisionEvent(of: task.id, Self.event, after: sequence)
  }

  /// Answers a challenge and returns the decision's state from the reply.
  @discardableResult func answer(_ challenge: EventReader.Event, _ answer: String) throws -> String? {
    try ferry.answer(challenge.decision, answer).json["state"]?.string
  }

  // MARK: Ends

  /// Expects that the task received the whole response, after that number of challenges.
  func expectSuccess(_ task: Challenged, challenges: Int = 1) throws {
    if let writer = task.writer { #expect(try writer.finish().status == 204) }
    let types = try ferry.story(of: task.id).map(\.type)
    #expect(types.filter { $0 == Self.event }.count == challenges)
    #expect(types.filter { $0 == "task.needNewBodyStream" }.count == (task.writer == nil ? 0 : 1))
    let response = types.firstIndex(of: "dataTask.didReceiveResponse")
    let challenge = types.lastIndex(of: Self.event)
    if let response, let challenge { #expect(challenge < response) }
    let end = try ferry.task(task.id)
    #expect(end["error"] == .null)
    switch task.kind {
    case .data, .download:
      #expect(end["response"]?["httpVersion"]?.string == (hasHTTP2 ? "HTTP/2" : "HTTP/1.1"))
      #expect(end["response"]?["status"]?.integer == 200)
      #expect(try ferry.call("GET", "/v1/tasks/\(task.id)/body").body == NginxServer.contents(5000))
    case .fileUpload, .streamedUpload:
      #expect([201, 204].contains(end["response"]?["status"]?.integer))
      #expect(nginx.uploaded(task.name) == Self.body)
    }
  }

  /// Expects that the task failed with `code`, before it sent a body or received a response.
  func expectFailure(_ task: Challenged, _ code: Int64, challenges: Int = 1) throws {
    let types = try ferry.story(of: task.id).map(\.type)
    #expect(types.filter { $0 == Self.event }.count == challenges)
    #expect(!types.contains("dataTask.didReceiveResponse") && !types.contains("task.didSendBodyData"))
    let end = try ferry.task(task.id)
    #expect(end.errorCode == code && end["response"] == .null && end["body"] == .null)
    #expect(end["progress"]?["countOfBytesSent"]?.integer == 0)
  }

  /// Runs a data task and returns its body, or `nil` if the task failed.
  func text(_ url: String, in session: String) throws -> String? {
    let task = try ferry.run(url, kind: "data", session: session)
    guard task["error"] == .null else { return nil }
    return try ferry.call("GET", "/v1/tasks/\(task.id)/body").text
  }

  /// Returns the number of challenges that the task received.
  func challenges(of id: String) throws -> Int {
    try ferry.story(of: id).filter { $0.type.hasSuffix("didReceiveChallenge") }.count
  }
}
