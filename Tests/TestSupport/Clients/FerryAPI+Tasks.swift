package import JSON

/// Calls for single steps of tasks.
extension FerryAPI {
  /// Creates a task and returns its id. `request` is a comma followed by further members of the request.
  package func create(
    _ url: String, kind: String = "data", session: String = "ses_shared", request: String = "",
    resume: Bool = true
  ) throws -> String {
    let body = #"{"kind":"\#(kind)","resume":\#(resume),"request":{"url":"\#(url)"\#(request)}}"#
    let reply = try call("POST", "/v1/sessions/\(session)/tasks", body)
    // Without a task, the test would wait in vain for its events.
    guard reply.status == 201 else {
      throw Socket.Failure(operation: "no task was created: \(reply.text)", errno: 0)
    }
    return reply.json.id
  }

  /// Runs a task and polls for its end.
  package func runInBackground(
    _ url: String, kind: String = "download", session: String, request: String = ""
  ) throws -> JSONValue {
    let id = try create(url, kind: kind, session: session, request: request)
    return try poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
  }

  package func task(_ id: String) throws -> JSONValue { try call("GET", "/v1/tasks/\(id)").json }

  /// Sends `resume`, `suspend` or `cancel`, and returns the state in the reply.
  package func act(_ verb: String, _ id: String) throws -> String? {
    try call("POST", "/v1/tasks/\(id)/\(verb)").json["state"]?.string
  }

  /// Waits for a task's end. Returns its events from the creation, without progress.
  package func story(of id: String) throws -> [EventReader.Event] {
    try events("/v1/tasks/\(id)/events?after=0&progress=false").read(upTo: "task.didComplete")
  }

  /// Waits for a task's end and returns the task.
  package func end(of id: String) throws -> JSONValue {
    _ = try story(of: id)
    return try task(id)
  }

  /// Runs a task of another session to its end, so that the engine has performed all earlier commands, such as a
  /// suspension. `url` must answer immediately.
  package func waitForEarlierCommands(_ url: String) throws { _ = try run(url, session: session()) }

  /// Returns the bytes of a task's body.
  package func body(of id: String) throws -> [UInt8] { try call("GET", "/v1/tasks/\(id)/body").body }

  package func metrics(of id: String) throws -> JSONValue { try call("GET", "/v1/tasks/\(id)/metrics").json }
}

extension JSONValue {
  /// The code of a task's error, or `nil` if the task has none.
  package var errorCode: Int64? { self["error"]?["code"]?.integer }
  package var id: String { self["id"]?.string ?? "" }
  /// The status of a task's response.
  package var status: Int64? { self["response"]?["status"]?.integer }
  /// The number of bytes of its body that a task has received.
  package var received: Int64 { self["progress"]?["countOfBytesReceived"]?.integer ?? 0 }
}
