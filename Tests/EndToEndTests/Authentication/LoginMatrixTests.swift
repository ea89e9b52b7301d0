import Foundation
import JSON
import TestSupport
import Testing

/// Basic and Digest of real servers: every answer to a challenge, on every kind of task.
@Suite(.serialized, .blocking, .sharing) struct LoginMatrixTests {
  private let servers: LoginServers
  private let ferry: FerryProcess
  private static let body = Pattern.bytes(300_000)

  init() throws {
    servers = try LoginServers()
    ferry = try .ofSuite(trustsAuthority: true)
  }

  enum Kind: String, Sendable, CaseIterable {
    case data, download, file, stream
    var isUpload: Bool { self == .file || self == .stream }
    /// nginx accepts no uploads.
    var places: [ProtectedResource] {
      (ProtectedResource.all + ProtectedResource.late).filter { !isUpload || $0.isApache }
    }
  }

  /// The answers to the challenges of a task, named after their outcome.
  enum Outcome: Sendable, CaseIterable {
    case right, wrongThenRight, wrongThenRejected, canceled, wrongThenCanceled, rejected, byDefault, noAnswer

    func answers(_ place: ProtectedResource) -> [String] {
      let wrong = LoginAnswer.use("bob", "wr:ong")
      let right = LoginAnswer.use(place.user, place.password)
      return switch self {
      case .right: [right]
      case .wrongThenRight: [wrong, right]
      case .wrongThenRejected: [wrong, LoginAnswer.reject]
      case .canceled: [LoginAnswer.cancel]
      case .wrongThenCanceled: [wrong, LoginAnswer.cancel]
      case .rejected: [LoginAnswer.reject]
      case .byDefault: [LoginAnswer.byDefault]
      case .noAnswer: [LoginAnswer.noAnswer]
      }
    }
    var isRight: Bool { self == .right || self == .wrongThenRight }
    var isCanceled: Bool { self == .canceled || self == .wrongThenCanceled }
    var isWrongFirst: Bool { [.wrongThenRight, .wrongThenRejected, .wrongThenCanceled].contains(self) }

    /// The server's log entry for each request.
    func shown(_ place: ProtectedResource) -> [String] {
      ["401 -"] + (isWrongFirst ? ["401 " + place.shown("bob", "wr:ong")] : [])
        + (isRight ? [place.shown(place.user, place.password)] : [])
    }
  }

  /// One task at one resource.
  private final class Run {
    let kind: Kind
    let place: ProtectedResource
    let name: String
    var id = ""
    var sequence: Int64 = 0
    /// Bodies being sent. Their replies may come only after the challenge is answered.
    var writers: [BodyWriter] = []

    init(_ kind: Kind, _ place: ProtectedResource, _ name: String) {
      (self.kind, self.place, self.name) = (kind, place, name)
    }
  }

  private func start(_ kind: Kind, _ place: ProtectedResource, in session: String, _ name: String) throws
    -> Run
  {
    let run = Run(kind, place, kind.isUpload ? name : "hello.txt?" + name)
    let url = servers.url(place, run.name)
    switch kind {
    case .data, .download: run.id = try ferry.create(url, kind: kind.rawValue, session: session)
    case .file:
      let body = #","method":"PUT","body":{"file":"\#(try ferry.store(Self.body))"}"#
      run.id = try ferry.create(url, kind: "upload", session: session, request: body)
    case .stream:
      let body = #","method":"PUT","body":{"stream":true}"#
      run.id = try ferry.create(url, kind: "upload", session: session, request: body)
    }
    try feed(run)
    return run
  }

  /// Sends the body when the stream requests it.
  private func feed(_ run: Run) throws {
    guard run.kind == .stream else { return }
    let event = try ferry.decisionEvent(of: run.id, "task.needNewBodyStream", after: run.sequence)
    run.sequence = event.id ?? 0
    let writer = try BodyWriter(ferry, run.id, length: run.writers.isEmpty ? Self.body.count : nil)
    try writer.write(Self.body)
    if !run.writers.isEmpty { try writer.client.socket.write("0\r\n\r\n") }
    run.writers.append(writer)
  }

  @Test(arguments: Outcome.allCases, Kind.allCases) func `answer decides the outcome of the task`(
    _ outcome: Outcome, _ kind: Kind
  ) throws {
    let session = try ferry.session(FerryProcess.uncached, delegate: FerryProcess.asksForLogin)
    for (index, place) in kind.places.enumerated() {
      let run = try start(kind, place, in: session, "case\(index)")
      for (failures, answer) in outcome.answers(place).enumerated() {
        let event = try ferry.challengeEvent(of: run.id, after: run.sequence)
        run.sequence = event.id ?? 0
        try check(event, of: run, failures: failures)
        #expect(try ferry.answer(event.decision, answer).status == 200)
        if answer.contains("password") { try feed(run) }
      }
      try checkEnd(of: run, outcome)
    }
  }

  private func check(_ event: EventReader.Event, of run: Run, failures: Int) throws {
    let (data, place) = (event.data, run.place)
    let space = data["protectionSpace"]
    #expect(space?["host"]?.string == "localhost" && space?["realm"]?.string == place.realm)
    #expect(space?["protocol"]?.string == (place.isSecure ? "https" : "http"))
    #expect(servers.url(place, "").contains(":\(space?["port"]?.integer ?? 0)/"))
    #expect(space?["authenticationMethod"]?.string == place.method && space?["isProxy"] == .bool(false))
    #expect(data["previousFailureCount"]?.integer == Int64(failures))
    #expect(data["proposedCredential"]?["user"]?.string == (failures > 0 ? "bob" : nil))
    #expect(data["failureResponse"]?["status"]?.integer == 401)
    #expect(data["failureResponse"]?["url"]?.string == servers.url(place, run.name))
    #expect(data["default"]?.string == "performDefaultHandling" && data["expiresAt"]?.string != nil)
    let task = try ferry.task(run.id)
    #expect(task["phase"]?.string == "waitingForDecision" && task["response"] == .null)
  }

  private func checkEnd(of run: Run, _ outcome: Outcome) throws {
    let story = try ferry.story(of: run.id)
    let shown = outcome.shown(run.place)
    let questions = outcome.answers(run.place).count
    #expect(story.map(\.type).filter { $0 != "task.didChangeState" } == expected(run, outcome, questions))
    let task = try ferry.task(run.id)
    #expect(task.errorCode == (outcome.isCanceled ? -999 : nil))
    #expect(
      task.status == (outcome.isCanceled ? nil : outcome.isRight ? (run.kind.isUpload ? 201 : 200) : 401))
    #expect(try ferry.metrics(of: run.id)["transactionMetrics"]?.elements?.count == shown.count)
    try checkBodies(of: run, outcome)
    try checkLog(of: run, outcome, shown)
    for writer in run.writers { #expect([204, 409].contains(try writer.client.readReply().status)) }
  }

  private func checkLog(of run: Run, _ outcome: Outcome, _ shown: [String]) throws {
    guard !run.place.logsLate else { return }
    let lines = servers.log(run.place, of: run.place.folder + run.name + " ", atLeast: shown.count)
    #expect(lines.count == shown.count)
    for (line, part) in zip(lines, shown) { #expect(line.contains(" " + part), "\(line): \(part)") }
    if outcome.isRight { #expect(lines.last?.contains(run.kind.isUpload ? " 201 " : " 200 ") == true) }
  }

  private func checkBodies(of run: Run, _ outcome: Outcome) throws {
    if run.kind.isUpload {
      #expect(servers.apache.uploaded(run.name) == (outcome.isRight ? Self.body : nil))
    }
    let reply = try ferry.call("GET", "/v1/tasks/\(run.id)/body")
    if outcome.isCanceled {
      #expect(try ferry.task(run.id)["body"] == .null)
    } else if !outcome.isRight {
      #expect(reply.text.contains("401") && reply.text.contains("</html>"))
    } else if run.kind.isUpload {
      #expect(reply.text == "received \(Self.body.count)\n")
    } else {
      #expect(reply.body == NginxServer.contents(5000))
    }
  }

  /// Returns the expected event types without states and progress. They include no response of a refused attempt.
  private func expected(_ run: Run, _ outcome: Outcome, _ questions: Int) -> [String] {
    var types = ["task.didCreate"]
    let bodies = run.kind == .stream ? run.writers.count : 0
    for index in 0..<max(questions, bodies) {
      if index < bodies { types.append("task.needNewBodyStream") }
      if index < questions { types.append("task.didReceiveChallenge") }
    }
    if !outcome.isCanceled {
      types.append(
        run.kind == .download ? "downloadTask.didFinishDownloading" : "dataTask.didReceiveResponse")
    }
    return types + ["task.didFinishCollectingMetrics", "task.didComplete"]
  }

  // MARK: Without an answer

  /// All tasks run at once, because they only wait.
  @Test func `unanswered challenge ends with the 401`() throws {
    let delegate = #"{"sessionChallenges":"default","taskChallenges":"ask","decisionTimeout":4}"#
    let session = try ferry.session(FerryProcess.uncached, delegate: delegate)
    let places = Kind.allCases.flatMap { kind in kind.places.map { (kind, $0) } }
    let runs = try places.enumerated().map { index, place in
      try start(place.0, place.1, in: session, "late\(index)")
    }
    for run in runs {
      let event = try ferry.challengeEvent(of: run.id)
      try checkEnd(of: run, .byDefault)
      let decision = try ferry.decision(event.decision)
      #expect(decision["state"]?.string == "expired")
      #expect(try ferry.answer(event.decision, LoginAnswer.reject).status == 409)
    }
  }

  /// A reader of inline data receives no bytes of a refused attempt.
  @Test func `bytes of a refused attempt are not shown`() throws {
    let session = try ferry.session(delegate: FerryProcess.asksForLogin)
    for (index, place) in ProtectedResource.all.enumerated() {
      let url = servers.url(place, "hello.txt?inline\(index)")
      let id = try ferry.create(url, session: session, resume: false)
      let reader = try ferry.events("/v1/tasks/\(id)/events?after=0&data=inline")
      #expect(try ferry.act("resume", id) == "running")
      var (asked, told) = (0, [UInt8]())
      while let event = try reader.next(), event.type != "task.didComplete" {
        if event.type == "task.didReceiveChallenge" {
          #expect(told.isEmpty)
          let right = LoginAnswer.use(place.user, place.password)
          try ferry.answer(event.decision, asked == 0 ? LoginAnswer.use("alice", "wrong") : right)
          asked += 1
        }
        told += Array(Data(base64Encoded: event.data["data"]?.string ?? "") ?? Data())
      }
      #expect(asked == 2 && told == NginxServer.contents(5000))
    }
  }
}
