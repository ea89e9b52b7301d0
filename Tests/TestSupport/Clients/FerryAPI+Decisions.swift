package import JSON

/// Calls for decisions.
extension FerryAPI {
  /// Waits for the next decision of this type after an event, and returns the event that asks for it.
  package func decisionEvent(
    of task: String, _ type: String = "task.willPerformHTTPRedirection", after sequence: Int64 = 0
  ) throws -> EventReader.Event {
    let reader = try events("/v1/tasks/\(task)/events?after=\(sequence)&types=\(type),task.didComplete")
    guard let event = try reader.next(), !event.decision.isEmpty else {
      throw Socket.Failure(operation: "no decision became pending", errno: 0)
    }
    return event
  }

  @discardableResult
  package func answer(_ decision: String, _ body: String) throws -> HTTPReply {
    try call("POST", "/v1/decisions/\(decision)", body)
  }

  /// Waits for the task's next challenge. The task must not end before.
  package func challengeEvent(of task: String, after sequence: Int64 = 0) throws -> EventReader.Event {
    try decisionEvent(of: task, "task.didReceiveChallenge", after: sequence)
  }

  /// The delegate of a session that asks for logins and trusts servers by default.
  package static var asksForLogin: String {
    #"{"sessionChallenges":"default","taskChallenges":"ask"}"#
  }

  /// Runs a task and answers its challenges in order. Returns the ended task.
  package func run(_ url: String, in session: String, answers: [String], request: String = "") throws
    -> JSONValue
  {
    let id = try create(url, session: session, request: request)
    var sequence: Int64 = 0
    for text in answers {
      let event = try challengeEvent(of: id, after: sequence)
      sequence = event.id ?? 0
      try answer(event.decision, text)
    }
    return try end(of: id)
  }

  package func decision(_ id: String) throws -> JSONValue { try call("GET", "/v1/decisions/\(id)").json }
}

/// Answers to challenges, as JSON.
package enum LoginAnswer {
  package static let cancel = #"{"disposition":"cancelAuthenticationChallenge"}"#
  package static let reject = #"{"disposition":"rejectProtectionSpace"}"#
  package static let byDefault = #"{"disposition":"performDefaultHandling"}"#
  package static let noAnswer = #"{"disposition":"useCredential"}"#

  package static func use(_ user: String, _ password: String, _ persistence: String = "none") -> String {
    #"{"disposition":"useCredential","credential":"#
      + #"{"user":"\#(user)","password":"\#(password)","persistence":"\#(persistence)"}}"#
  }
}

extension EventReader.Event {
  /// The id of the decision that the event asks for.
  package var decision: String { data["decisionId"]?.string ?? "" }
}

extension JSONValue {
  package var text: String { String(decoding: json, as: UTF8.self) }
}
