package import JSON

/// What tests do with the calls of a delegate that wait for an answer.
extension FerryAPI {
  /// The event of the next such call of the task after that event, which is waited for.
  package func question(
    of task: String, _ type: String = "task.willPerformHTTPRedirection", after sequence: Int64 = 0
  ) throws -> EventReader.Event {
    let reader = try events("/v1/tasks/\(task)/events?after=\(sequence)&types=\(type),task.didComplete")
    guard let event = try reader.next(), !event.decision.isEmpty else {
      throw Socket.Failure(operation: "no decision is asked for", errno: 0)
    }
    return event
  }

  @discardableResult
  package func answer(_ decision: String, _ body: String) throws -> HTTPReply {
    try call("POST", "/v1/decisions/\(decision)", body)
  }

  /// The next challenge of the task, which must not end before that.
  package func login(of task: String, after sequence: Int64 = 0) throws -> EventReader.Event {
    try question(of: task, "task.didReceiveChallenge", after: sequence)
  }

  /// The delegate of a session that asks who it is, and trusts servers by itself.
  package static var asksForLogin: String {
    #"{"sessionChallenges":"default","taskChallenges":"ask"}"#
  }

  /// Runs a task whose challenges are answered one after the other, and returns it when it has ended.
  package func run(_ url: String, in session: String, answers: [String], request: String = "") throws
    -> JSONValue
  {
    let id = try create(url, session: session, request: request)
    var sequence: Int64 = 0
    for text in answers {
      let event = try login(of: id, after: sequence)
      sequence = event.id ?? 0
      try answer(event.decision, text)
    }
    return try end(of: id)
  }

  package func decision(_ id: String) throws -> JSONValue { try call("GET", "/v1/decisions/\(id)").json }
}

/// Answers to challenges, as clients write them.
package enum LoginAnswer {
  package static let cancel = #"{"disposition":"cancelAuthenticationChallenge"}"#
  package static let reject = #"{"disposition":"rejectProtectionSpace"}"#
  package static let byDefault = #"{"disposition":"performDefaultHandling"}"#
  package static let nobody = #"{"disposition":"useCredential"}"#

  package static func use(_ user: String, _ password: String, _ persistence: String = "none") -> String {
    #"{"disposition":"useCredential","credential":"#
      + #"{"user":"\#(user)","password":"\#(password)","persistence":"\#(persistence)"}}"#
  }
}

extension EventReader.Event {
  /// The id of the decision that it asks for.
  package var decision: String { data["decisionId"]?.string ?? "" }
}

extension JSONValue {
  package var text: String { String(decoding: json, as: UTF8.self) }
}
