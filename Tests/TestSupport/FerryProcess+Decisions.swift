package import JSON

/// What tests do with the calls of a delegate that wait for an answer.
extension FerryProcess {
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

  package func decision(_ id: String) throws -> JSONValue { try call("GET", "/v1/decisions/\(id)").json }
}

extension EventReader.Event {
  /// The id of the decision that it asks for.
  package var decision: String { data["decisionId"]?.string ?? "" }
}

extension JSONValue {
  package var text: String { String(decoding: json, as: UTF8.self) }
}
