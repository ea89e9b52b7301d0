import JSON
import TestSupport
import Testing

/// A task that meets challenges: one of the ways in which bytes move, and all that is told of it.
final class ChallengedTask {
  enum Shape: String, CaseIterable, Sendable {
    case data, download
    /// An upload from a stored file.
    case file
    /// Uploads that the client sends as often as it is asked to.
    case stream, chunkedStream

    var isUpload: Bool { self != .data && self != .download }
    var isStream: Bool { self == .stream || self == .chunkedStream }
  }

  /// What uploads carry.
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

  /// The next challenge; nil where the task ended without one. Sends the body as often as it is asked for.
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
    // The reply may wait for the answer to a challenge, and is read when the task has ended.
    if shape == .chunkedStream { try writer.client.socket.write("0\r\n\r\n") }
    writers.append(writer)
  }

  /// The task when it has ended without another challenge.
  func end() throws -> JSONValue {
    let more = try challenge()
    #expect(more == nil, "\(more?.json.text ?? "")")
    return try ferry.task(id)
  }

  /// What it brought.
  func body() throws -> [UInt8] { try ferry.call("GET", "/v1/tasks/\(id)/body").body }

  func count(_ type: String) -> Int { events.filter { $0.type == type }.count }

  /// The status of the client's last `PUT` of the body.
  func lastPut() throws -> Int? { try writers.last?.client.readReply().status }
}

/// What is answered to the challenges of a task, one after the other, and what the task comes to by that.
struct Play: Sendable, CustomTestStringConvertible {
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
    Play(.right, to: .allowed), Play(.wrong, .right, to: .allowed), Play(.cancel, to: .cancelled),
    Play(.wrong, .cancel, to: .cancelled), Play(.reject, to: .refused), Play(.byDefault, to: .refused),
    Play(.wrong, .byDefault, to: .refused), Play(.silence, to: .refused),
  ]
}

/// A user as tests answer with it.
struct Login: Sendable {
  let user: String
  let password: String
  var persistence = "none"

  /// The answer to a decision.
  func answer(isRight: Bool = true) -> String {
    #"{"disposition":"useCredential","credential":\#(json(isRight: isRight))}"#
  }

  func json(isRight: Bool = true) -> String {
    let password = JSONValue.string(isRight ? password : "wrong").text
    return
      #"{"user":\#(JSONValue.string(user).text),"password":\#(password),"persistence":"\#(persistence)"}"#
  }
}

/// Who asks, how its challenges look, and what is left where nobody is let in.
struct Gatekeeper: Sendable {
  var event = "task.didReceiveChallenge"
  var method: String
  var host = "127.0.0.1"
  var port: Int
  var protocolName = "http"
  var realm: String?
  var isProxy = false
  /// Of the answer that asks; nil: it asks without HTTP.
  var status: Int64?
  /// Whether a wrong credential is tried with a request of its own.
  var seesWrongOnes = true
  /// How a task ends that is not let in; nil: with the answer that asks.
  var error: Int64?

  func check(_ event: EventReader.Event, _ play: Play) {
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
  /// Answers as the play says; every challenge has to look as the gatekeeper's do, and the end has to be the play's.
  func perform(_ play: Play, _ login: Login, before gatekeeper: Gatekeeper) throws {
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

  private func give(_ answer: Play.Answer, _ login: Login, to event: EventReader.Event) throws {
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

  private func check(_ play: Play, before gatekeeper: Gatekeeper) throws {
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

  /// Nothing of an answer that was asked about is shown, and the rest comes once and in order.
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
  /// Apache's receiver creates, others just take.
  fileprivate var uploadStatus: Int64 { self["response"]?["status"]?.integer == 201 ? 201 : 200 }
}
