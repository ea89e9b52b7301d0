import JSON
import TestSupport
import Testing

/// A task that receives challenges, with the events it had so far.
final class ChallengedTask {
  enum Shape: String, CaseIterable, Sendable {
    case data, download
    /// An upload of a stored file.
    case file
    /// Uploads whose body the client sends at each request for it.
    case stream, chunkedStream

    var isUpload: Bool { self != .data && self != .download }
    var isStream: Bool { self == .stream || self == .chunkedStream }
  }

  /// The body of uploads.
  static let upload = Pattern.bytes(300_001)

  let id: String
  private let ferry: FerryProcess
  private let shape: Shape
  private let reader: EventReader
  private var writers: [BodyWriter] = []
  private(set) var events: [EventReader.Event] = []

  init(_ ferry: FerryProcess, _ shape: Shape, _ url: String, session: String) throws {
    let body =
      switch shape {
      case .data, .download: ""
      case .file: #","method":"PUT","body":{"file":"\#(try ferry.store(Self.upload))"}"#
      case .stream, .chunkedStream: #","method":"PUT","body":{"stream":true}"#
      }
    self.ferry = ferry
    self.shape = shape
    let kind = shape.isUpload ? "upload" : shape.rawValue
    id = try ferry.create(url, kind: kind, session: session, request: body)
    reader = try ferry.events("/v1/tasks/\(id)/events?after=0&progress=false")
  }

  /// Returns the next challenge, or `nil` if the task ended without one. Sends the body at each request for it.
  func challenge() throws -> EventReader.Event? {
    while let event = try reader.next() {
      events.append(event)
      switch event.type {
      case "task.needNewBodyStream": try send()
      case "task.didReceiveChallenge", "session.didReceiveChallenge": return event
      case "task.didComplete": return nil
      default: break
      }
    }
    return nil
  }

  private func send() throws {
    let writer = try BodyWriter(ferry, id, length: shape == .stream ? Self.upload.count : nil)
    try writer.write(Self.upload)
    // The reply to the `PUT` may wait for the answer to a challenge, so it is read after the task's end.
    if shape == .chunkedStream { try writer.client.socket.write("0\r\n\r\n") }
    writers.append(writer)
  }

  /// Returns the task after its end, and expects no further challenge.
  func end() throws -> JSONValue {
    let more = try challenge()
    #expect(more == nil, "\(more?.json.text ?? "")")
    return try ferry.task(id)
  }

  /// Returns the task's body.
  func body() throws -> [UInt8] { try ferry.call("GET", "/v1/tasks/\(id)/body").body }

  func count(_ type: String) -> Int { events.filter { $0.type == type }.count }

  /// Returns the status of the client's last `PUT` of the body.
  func lastPut() throws -> Int? { try writers.last?.client.readReply().status }
}

/// The answers to a task's challenges, in order, and the outcome they lead to.
struct AnswerScript: Sendable, CustomTestStringConvertible {
  enum Answer: String, Sendable { case right, wrong, cancel, reject, byDefault, silence }
  enum Outcome: Sendable { case allowed, refused, cancelled }
  let answers: [Answer]
  let outcome: Outcome
  var testDescription: String { answers.map(\.rawValue).joined(separator: ", ") }
  var isSilent: Bool { answers.contains(.silence) }

  init(_ answers: Answer..., to outcome: Outcome) {
    self.answers = answers
    self.outcome = outcome
  }

  static let all = [
    AnswerScript(.right, to: .allowed), AnswerScript(.wrong, .right, to: .allowed),
    AnswerScript(.cancel, to: .cancelled),
    AnswerScript(.wrong, .cancel, to: .cancelled), AnswerScript(.reject, to: .refused),
    AnswerScript(.byDefault, to: .refused),
    AnswerScript(.wrong, .byDefault, to: .refused), AnswerScript(.silence, to: .refused),
  ]
}

/// A user and password for answers to challenges.
struct Login: Sendable {
  let user: String
  let password: String
  var persistence = "none"

  /// Returns the answer to a decision.
  func answer(isRight: Bool = true) -> String {
    #"{"disposition":"useCredential","credential":\#(json(isRight: isRight))}"#
  }

  func json(isRight: Bool = true) -> String {
    let password = JSONValue.string(isRight ? password : "wrong").text
    return
      #"{"user":\#(JSONValue.string(user).text),"password":\#(password),"persistence":"\#(persistence)"}"#
  }
}

/// The expected form of a task's challenges, and of its end if it is refused.
struct ChallengeExpectation: Sendable {
  var event = "task.didReceiveChallenge"
  var method: String
  var host = "127.0.0.1"
  var port: Int
  var protocolName = "http"
  var realm: String?
  var isProxy = false
  /// The status of the response that challenges. `nil` if the challenge does not come over HTTP.
  var status: Int64?
  /// Whether a wrong credential is sent in a request of its own.
  var seesWrongOnes = true
  /// The error of a refused task. `nil` if it ends with the response that challenged it.
  var error: Int64?

  func check(_ event: EventReader.Event, _ play: AnswerScript) {
    let (data, space) = (event.data, event.data["protectionSpace"])
    let at: Comment = "\(play.testDescription): \(event.json.text)"
    #expect(event.type == self.event, at)
    #expect(space?["authenticationMethod"]?.string == method, at)
    #expect(space?["host"]?.string == host && space?["port"]?.integer == Int64(port), at)
    #expect(space?["protocol"]?.string == protocolName && space?["isProxy"]?.bool == isProxy, at)
    #expect(space?["realm"]?.string == realm, at)
    #expect(data["failureResponse"]?["status"]?.integer == status, at)
    #expect(data["default"]?.string == "performDefaultHandling" && data["expiresAt"]?.string != nil, at)
  }
}

extension ChallengedTask {
  /// Answers as `play` says, and checks each challenge and the task's end.
  func perform(_ play: AnswerScript, _ login: Login, before gatekeeper: ChallengeExpectation) throws {
    var failures: Int64 = 0
    for answer in play.answers {
      let event = try #require(try challenge(), "\(play.testDescription)")
      let at: Comment = "\(play.testDescription): \(event.json.text)"
      gatekeeper.check(event, play)
      #expect(event.task == id, at)
      #expect(event.data["previousFailureCount"]?.integer == failures, at)
      #expect(event.data["proposedCredential"]?["user"]?.string == (failures == 0 ? nil : login.user), at)
      let task = try ferry.task(id)
      if answer != .silence { #expect(task["phase"]?.string == "waitingForDecision", at) }
      #expect(task["response"] == .null, at)
      try give(answer, login, to: event)
      if answer == .wrong { failures += 1 }
    }
    try check(play, before: gatekeeper)
  }

  private func give(_ answer: AnswerScript.Answer, _ login: Login, to event: EventReader.Event) throws {
    let body: String
    switch answer {
    case .silence: return
    case .right: body = login.answer()
    case .wrong: body = login.answer(isRight: false)
    case .cancel: body = #"{"disposition":"cancelAuthenticationChallenge"}"#
    case .reject: body = #"{"disposition":"rejectProtectionSpace"}"#
    case .byDefault: body = #"{"disposition":"performDefaultHandling"}"#
    }
    #expect(try ferry.answer(event.decision, body).status == 200)
  }

  private func check(_ play: AnswerScript, before gatekeeper: ChallengeExpectation) throws {
    let task = try end()
    let at: Comment = "\(play.testDescription): \(task.text)"
    let status = task["response"]?["status"]?.integer
    switch play.outcome {
    case .allowed:
      #expect(task["error"] == .null && status == (shape.isUpload ? task.uploadStatus : 200), at)
      if shape.isStream { #expect(try lastPut() == 204, at) }
    case .refused:
      #expect(task.errorCode == gatekeeper.error, at)
      #expect(status == (gatekeeper.error == nil ? gatekeeper.status : nil), at)
    case .cancelled: #expect(task.errorCode == -999 && task["response"] == .null, at)
    }
    let answers = play.answers.filter { $0 == .right || $0 == .wrong && gatekeeper.seesWrongOnes }
    #expect(count("task.needNewBodyStream") == (shape.isStream ? 1 + answers.count : 0), at)
    checkOrder(showsResponse: status != nil, at)
    #expect(try ferry.metrics(of: id)["redirectCount"]?.integer == 0, at)
  }

  /// Expects no event of a response before the last challenge, and each event once and in order afterwards.
  private func checkOrder(showsResponse: Bool, _ at: Comment) {
    let types = events.map(\.type)
    let shown = [
      "dataTask.didReceiveResponse", "dataTask.didReceiveData", "downloadTask.didFinishDownloading",
    ]
    let asked = types.lastIndex { $0.hasSuffix("didReceiveChallenge") } ?? 0
    #expect(!types[..<asked].contains { shown.contains($0) }, at)
    #expect(count(shown[0]) == (showsResponse && shape != .download ? 1 : 0), at)
    #expect(count(shown[2]) == (showsResponse && shape == .download ? 1 : 0), at)
    #expect(types.suffix(2) == ["task.didFinishCollectingMetrics", "task.didComplete"], at)
  }
}

extension JSONValue {
  /// Apache answers 201 to uploads, and the others 200.
  fileprivate var uploadStatus: Int64 { self["response"]?["status"]?.integer == 201 ? 201 : 200 }
}
