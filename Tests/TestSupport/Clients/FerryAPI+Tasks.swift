package import JSON

/// What tests do with tasks, step by step.
extension FerryAPI {
  /// Creates a task and returns its id; the rest of the members of `request` follow a comma.
  package func create(
    _ url: String, kind: String = "data", session: String = "ses_shared", request: String = "",
    resume: Bool = true
  ) throws -> String {
    let body = #"{"kind":"\#(kind)","resume":\#(resume),"request":{"url":"\#(url)"\#(request)}}"#
    let reply = try call("POST", "/v1/sessions/\(session)/tasks", body)
    // Who would wait for what becomes of it would wait long.
    guard reply.status == 201 else { throw Socket.Failure(operation: "no task: \(reply.text)", errno: 0) }
    return reply.json.id
  }

  /// The task at its end, in any session: those in the background take no completion handlers.
  package func runInBackground(
    _ url: String, kind: String = "download", session: String, request: String = ""
  ) throws -> JSONValue {
    let id = try create(url, kind: kind, session: session, request: request)
    return try poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
  }

  package func task(_ id: String) throws -> JSONValue { try call("GET", "/v1/tasks/\(id)").json }

  /// Sends `resume`, `suspend` or `cancel`, and returns the state that the reply shows.
  package func act(_ verb: String, _ id: String) throws -> String? {
    try call("POST", "/v1/tasks/\(id)/\(verb)").json["state"]?.string
  }

  /// All that was told of a task but its progress, from its creation to its end, which is waited for.
  package func story(of id: String) throws -> [EventReader.Event] {
    try events("/v1/tasks/\(id)/events?after=0&progress=false").read(upTo: "task.didComplete")
  }

  /// The task when it has ended.
  package func end(of id: String) throws -> JSONValue {
    _ = try story(of: id)
    return try task(id)
  }

  /// Returns when the worker has taken up what was asked of it before: until then it may find a connection free, or read
  /// what a suspension would have left. A task of another session, which ends, is the sign; `url` answers at once.
  package func settle(_ url: String) throws { _ = try run(url, session: session()) }

  /// The bytes of a task's body.
  package func body(of id: String) throws -> [UInt8] { try call("GET", "/v1/tasks/\(id)/body").body }

  package func metrics(of id: String) throws -> JSONValue { try call("GET", "/v1/tasks/\(id)/metrics").json }
}

extension JSONValue {
  /// The code of a task's error; nil where there is none.
  package var errorCode: Int64? { self["error"]?["code"]?.integer }
  package var id: String { self["id"]?.string ?? "" }
  /// The status of a task's response.
  package var status: Int64? { self["response"]?["status"]?.integer }
  /// How many bytes of its body a task has received.
  package var received: Int64 { self["progress"]?["countOfBytesReceived"]?.integer ?? 0 }
}
