internal import FoundationEssentials
internal import GRDB
internal import JSON
internal import TransferModel

// What stands in the columns. Documents are JSON, so that an operator can read them with sqlite3.

extension TransferSession {
  var document: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("description", description)
      writer.field("configuration", Optional(configuration))
      writer.key("delegate")
      guard let delegate else { return writer.null() }
      writer.object { delegate.encode(into: &$0, withSecret: true) }
    }
    return writer.bytes
  }

  init(row: Row) throws {
    let document = try JSONParser.parse(row.bytes("document"))
    let violations = Violations()
    var configuration = ObjectReader(document["configuration"] ?? .object([]), at: "", violations)
    var delegate: SessionDelegate?
    if let value = document["delegate"], !value.isNull {
      var reader = ObjectReader(value, at: "", violations)
      delegate = SessionDelegate(validating: &reader)
    }
    self.init(
      id: SessionID(bytes: row.bytes("id")) ?? .shared, createdAt: Timestamp(microseconds: row["created"]),
      description: document["description"]?.string,
      configuration: SessionConfiguration(validating: &configuration), delegate: delegate)
    state = SessionState(rawValue: row["state"]) ?? .invalid
  }
}

extension TransferTask {
  /// What never changes after creation.
  var specificationDocument: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("description", description)
      writer.field("priority", priority)
      writer.field("earliestBeginDate", earliestBeginDate?.microseconds ?? 0)
      writer.field("maximumBytesPerSecond", maximumBytesPerSecond ?? 0)
      if let resumePoint { writer.field("resumePoint", Optional(resumePoint)) }
      if hasInvalidResumeData { writer.field("hasInvalidResumeData", true) }
      originalRequest.encodeStored("request", into: &writer)
      writer.key("completion")
      guard let completion else { return writer.null() }
      writer.object { writer in
        writer.field("url", completion.url)
        writer.field("secret", completion.secret)
      }
    }
    return writer.bytes
  }

  /// How far it has come.
  var outcomeDocument: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      if currentRequest != originalRequest { currentRequest.encodeStored("currentRequest", into: &writer) }
      writer.field("response", response)
      writer.field("error", error)
      writer.field("sent", progress.countOfBytesSent)
      writer.field("expectedToSend", progress.countOfBytesExpectedToSend)
      writer.field("received", progress.countOfBytesReceived)
      writer.field("expected", progress.countOfBytesExpectedToReceive)
      writer.field("startedAt", startedAt?.microseconds ?? 0)
      writer.field("completedAt", completedAt?.microseconds ?? 0)
      if let partial { writer.field("partial", Optional(partial)) }
      if let downloadTask { writer.field("downloadTask", downloadTask.description) }
      if let body {
        writer.objectField("body") { writer in
          writer.field("size", body.size)
          writer.field("sha256", body.sha256)
          writer.field("expiresAt", body.expiresAt.microseconds)
        }
      }
    }
    return writer.bytes
  }

  init(row: Row) throws {
    let stored = try JSONParser.parse(row.bytes("specification"))
    let request = TransferRequest(stored: stored["request"], body: row.optionalBytes("request_body"))
    var specification = TaskSpecification(kind: TaskKind(rawValue: row["kind"]) ?? .data, request: request)
    specification.description = stored["description"]?.string
    specification.priority = stored["priority"]?.double ?? 0.5
    specification.earliestBeginDate = Self.time(stored["earliestBeginDate"])
    specification.maximumBytesPerSecond = stored["maximumBytesPerSecond"]?.integer.flatMap {
      $0 > 0 ? Int($0) : nil
    }
    specification.resumePoint = ResumePoint(json: stored["resumePoint"])
    specification.hasInvalidResumeData = stored["hasInvalidResumeData"]?.bool ?? false
    specification.completion = stored["completion"]?["url"]?.string.map {
      Webhook(url: $0, secret: stored["completion"]?["secret"]?.string)
    }
    self.init(
      id: TaskID(bytes: row.bytes("id")) ?? TaskID(high: 0, low: 0),
      sessionID: SessionID(bytes: row.bytes("session")) ?? .shared, taskIdentifier: row["identifier"],
      createdAt: Timestamp(microseconds: row["created"]), specification: specification)
    lifecycle = TaskLifecycle(
      state: TaskState(rawValue: row["state"]) ?? .completed, suspendCount: row["suspend_count"])
    if let outcome = row.optionalBytes("outcome") {
      restore(outcome: try JSONParser.parse(outcome))
    }
  }

  private mutating func restore(outcome: JSONValue) {
    if let current = outcome["currentRequest"] {
      currentRequest = TransferRequest(stored: current, body: originalRequest.body?.data)
    }
    response = TransferResponse(json: outcome["response"])
    error = outcome["error"].flatMap { TransferError(json: $0) }
    progress.countOfBytesSent = outcome["sent"]?.integer ?? 0
    progress.countOfBytesExpectedToSend =
      outcome["expectedToSend"]?.integer ?? progress.countOfBytesExpectedToSend
    progress.countOfBytesReceived = outcome["received"]?.integer ?? 0
    progress.countOfBytesExpectedToReceive = outcome["expected"]?.integer ?? -1
    partial = ResumePoint(json: outcome["partial"])
    downloadTask = outcome["downloadTask"]?.string.flatMap { TaskID($0) }
    startedAt = Self.time(outcome["startedAt"])
    completedAt = Self.time(outcome["completedAt"])
    if let stored = outcome["body"], let expiresAt = Self.time(stored["expiresAt"]) {
      body = TaskBody(
        size: stored["size"]?.integer ?? 0, sha256: stored["sha256"]?.string ?? "", expiresAt: expiresAt)
    }
  }

  private static func time(_ value: JSONValue?) -> Timestamp? {
    guard let microseconds = value?.integer, microseconds > 0 else { return nil }
    return Timestamp(microseconds: microseconds)
  }
}

extension TransferRequest {
  fileprivate func encodeStored(_ name: StaticString, into writer: inout JSONWriter) {
    writer.objectField(name) { writer in
      writer.field("url", url)
      writer.field("method", method)
      writer.field("headers", Optional(headers))
      if let timeoutInterval { writer.field("timeoutInterval", timeoutInterval) }
      if let body { writer.field("body", Optional(body)) }
    }
  }

  /// - Parameter data: the bytes, where the body is data: they have a column of their own.
  fileprivate init(stored: JSONValue?, body data: [UInt8]?) {
    var body: RequestContent?
    if let stored = stored?["body"] {
      if stored["stream"]?.bool == true {
        body = .stream
      } else if let file = stored["file"]?.string.flatMap({ FileID($0) }) {
        body = .file(file, size: stored["size"]?.integer ?? 0)
      } else {
        body = .data(data ?? [])
      }
    }
    self.init(
      url: stored?["url"]?.string ?? "", method: stored?["method"]?.string ?? "GET",
      headers: HTTPHeaders(json: stored?["headers"]), body: body,
      timeoutInterval: stored?["timeoutInterval"]?.double)
  }
}

extension WebhookDelivery {
  init(row: Row) {
    self.init(
      id: DeliveryID(bytes: row.bytes("id")) ?? DeliveryID(high: 0, low: 0),
      sessionID: SessionID(bytes: row.bytes("session")) ?? .shared,
      taskID: row.optionalBytes("task").flatMap { TaskID(bytes: $0) },
      type: EventType(rawValue: row["type"]) ?? .taskDidComplete,
      webhook: Webhook(url: row["url"], secret: row["secret"]), payload: row.bytes("payload"),
      createdAt: Timestamp(microseconds: row["created"]),
      decisionID: row.optionalBytes("decision").flatMap { DecisionID(bytes: $0) })
    state = State(rawValue: row["state"]) ?? .failed
    attempts = row["attempts"]
    nextAttemptAt = Timestamp(microseconds: row["next_attempt"])
    lastStatus = row["last_status"]
    lastError = row["last_error"]
  }
}

extension Decision {
  init(row: Row) {
    self.init(
      id: DecisionID(bytes: row.bytes("id")) ?? DecisionID(high: 0, low: 0),
      type: EventType(rawValue: row["type"]) ?? .taskWillPerformHTTPRedirection,
      sessionID: SessionID(bytes: row.bytes("session")) ?? .shared,
      taskID: TaskID(bytes: row.bytes("task")) ?? TaskID(high: 0, low: 0),
      createdAt: Timestamp(microseconds: row["created"]), expiresAt: Timestamp(microseconds: row["expires"]),
      defaultAnswer: row["default_answer"], arguments: row.bytes("arguments"))
    state = State(rawValue: row["state"]) ?? .withdrawn
    answer = row.optionalBytes("answer")
  }
}

extension StoredFile {
  init(row: Row) {
    self.init(
      id: FileID(bytes: row.bytes("id")) ?? FileID(high: 0, low: 0),
      createdAt: Timestamp(microseconds: row["created"]), size: row["size"], sha256: row["sha256"],
      contentType: row["content_type"], fromTask: row.optionalBytes("task").flatMap { TaskID(bytes: $0) })
  }
}

extension JournalFragment {
  init(row: Row) {
    self.init(
      first: row["first"], last: row["last"], sessionID: SessionID(bytes: row.bytes("session")) ?? .shared,
      taskID: row.optionalBytes("task").flatMap { TaskID(bytes: $0) },
      bytes: row.bytes("stream"))
  }
}

extension Row {
  /// A text or blob column's bytes; empty where it is NULL.
  func bytes(_ column: String) -> [UInt8] { optionalBytes(column) ?? [] }

  /// A text or blob column's bytes; nil where it is NULL.
  func optionalBytes(_ column: String) -> [UInt8]? {
    (try? withUnsafeData(named: column) { data in data.map { Array($0) } }) ?? nil
  }
}
