internal import FoundationEssentials
internal import GRDB
internal import JSON
internal import TransferModel

// What stands in the columns. Documents are JSON, so that an operator can read them with sqlite3.

extension TransferSession {
  func document(sealedBy box: SecretBox) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("type", type.rawValue)
      writer.field("description", description)
      if let identifier { writer.field("identifier", identifier) }
      if tenant != .default { writer.field("tenant", tenant.name) }
      if owesFinishedEvents { writer.field("owesFinishedEvents", true) }
      writer.key("configuration")
      configuration.encode(into: &writer, sealing: box.seal)
      writer.key("delegate")
      guard let delegate else { return writer.null() }
      writer.object { delegate.encode(into: &$0, sealing: box.seal) }
    }
    return writer.bytes
  }

  init(row: Row, openedBy box: SecretBox) throws {
    let document = box.open(try JSONParser.parse(row.bytes("document")))
    let violations = Violations()
    var configuration = ObjectReader(document["configuration"] ?? .object([]), at: "", violations)
    var delegate: SessionDelegate?
    if let value = document["delegate"], !value.isNull {
      var reader = ObjectReader(value, at: "", violations)
      delegate = SessionDelegate(validating: &reader)
    }
    self.init(
      id: SessionID(bytes: row.bytes("id")) ?? .shared,
      type: document["type"]?.string.flatMap { SessionType(rawValue: $0) } ?? .default,
      createdAt: Timestamp(microseconds: row["created"]),
      description: document["description"]?.string,
      configuration: SessionConfiguration(validating: &configuration), delegate: delegate,
      identifier: document["identifier"]?.string,
      tenant: document["tenant"]?.string.map { Tenant(name: $0) } ?? .default)
    state = SessionState(rawValue: row["state"]) ?? .invalid
    owesFinishedEvents = document["owesFinishedEvents"]?.bool ?? false
  }
}

extension NamedConfiguration {
  func document(sealedBy box: SecretBox) -> [UInt8] {
    var writer = JSONWriter()
    configuration.encode(into: &writer, sealing: box.seal)
    return writer.bytes
  }

  init(row: Row, openedBy box: SecretBox) throws {
    var reader = ObjectReader(box.open(try JSONParser.parse(row.bytes("document"))), at: "", Violations())
    self.init(
      name: row["name"], configuration: SessionConfiguration(validating: &reader),
      createdAt: Timestamp(microseconds: row["created"]), updatedAt: Timestamp(microseconds: row["updated"]))
  }
}

extension TransferTask {
  /// What never changes after creation.
  func specificationDocument(sealedBy box: SecretBox) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("description", description)
      writer.field("priority", priority)
      writer.field("earliestBeginDate", earliestBeginDate?.microseconds ?? 0)
      writer.field("maximumBytesPerSecond", maximumBytesPerSecond ?? 0)
      if let resumePoint { writer.field("resumePoint", Optional(resumePoint)) }
      if hasInvalidResumeData { writer.field("hasInvalidResumeData", true) }
      originalRequest.encodeStored("request", sealedBy: box, into: &writer)
      writer.key("completion")
      guard let completion else { return writer.null() }
      writer.object { writer in
        writer.field("url", completion.url)
        writer.field("secret", completion.secret.map(box.seal))
      }
    }
    return writer.bytes
  }

  /// How far it has come.
  func outcomeDocument(sealedBy box: SecretBox) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      if currentRequest != originalRequest {
        // What a delegate gave in place of the first request may have a body of its own.
        let own = currentRequest.body?.data.flatMap { $0 == originalRequest.body?.data ? nil : $0 }
        currentRequest.encodeStored("currentRequest", sealedBy: box, into: &writer)
        if let own { writer.field("currentBody", Base64.encode(own)) }
      }
      writer.field("response", response)
      writer.field("error", error)
      writer.field("sent", progress.countOfBytesSent)
      writer.field("expectedToSend", progress.countOfBytesExpectedToSend)
      writer.field("received", progress.countOfBytesReceived)
      writer.field("expected", progress.countOfBytesExpectedToReceive)
      writer.field("startedAt", startedAt?.microseconds ?? 0)
      writer.field("completedAt", completedAt?.microseconds ?? 0)
      if retryCount > 0 { writer.field("retryCount", retryCount) }
      if let partial { writer.field("partial", Optional(partial)) }
      if let partialExpiresAt { writer.field("partialExpiresAt", partialExpiresAt.microseconds) }
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

  init(row: Row, openedBy box: SecretBox) throws {
    let stored = box.open(try JSONParser.parse(row.bytes("specification")))
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
      restore(outcome: box.open(try JSONParser.parse(outcome)))
    }
  }

  private mutating func restore(outcome: JSONValue) {
    if let current = outcome["currentRequest"] {
      let own = outcome["currentBody"]?.string.flatMap { Base64.decode($0) }
      currentRequest = TransferRequest(stored: current, body: own ?? originalRequest.body?.data)
    }
    response = TransferResponse(json: outcome["response"])
    error = outcome["error"].flatMap { TransferError(json: $0) }
    progress.countOfBytesSent = outcome["sent"]?.integer ?? 0
    progress.countOfBytesExpectedToSend =
      outcome["expectedToSend"]?.integer ?? progress.countOfBytesExpectedToSend
    progress.countOfBytesReceived = outcome["received"]?.integer ?? 0
    progress.countOfBytesExpectedToReceive = outcome["expected"]?.integer ?? -1
    retryCount = outcome["retryCount"]?.integer.map { Int($0) } ?? 0
    partial = ResumePoint(json: outcome["partial"])
    partialExpiresAt = Self.time(outcome["partialExpiresAt"])
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
  fileprivate func encodeStored(
    _ name: StaticString, sealedBy box: SecretBox, into writer: inout JSONWriter
  ) {
    writer.objectField(name) { writer in
      writer.field("url", url)
      if case .password(let user, let password) = credential?.kind {
        writer.field("user", box.seal(user))
        writer.field("password", box.seal(password))
      }
      writer.field("method", method)
      writer.field("headers", Optional(headers.replacingSecrets(box.seal)))
      if let timeoutInterval { writer.field("timeoutInterval", timeoutInterval) }
      if let body { writer.field("body", Optional(body)) }
      encodeLoading(into: &writer)
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
    var loading = ObjectReader(stored ?? .object([]), at: "", Violations())
    readLoading(&loading)
    if let user = stored?["user"]?.string, let password = stored?["password"]?.string {
      credential = Credential(user: user, password: password)
    }
  }
}

extension WebhookDelivery {
  init(row: Row, openedBy box: SecretBox) {
    self.init(
      id: DeliveryID(bytes: row.bytes("id")) ?? DeliveryID(high: 0, low: 0),
      sessionID: SessionID(bytes: row.bytes("session")) ?? .shared,
      taskID: row.optionalBytes("task").flatMap { TaskID(bytes: $0) },
      type: EventType(rawValue: row["type"]) ?? .taskDidComplete,
      webhook: Webhook(url: row["url"], secret: (row["secret"] as String?).map { box.open($0) ?? $0 }),
      payload: row.bytes("payload"),
      createdAt: Timestamp(microseconds: row["created"]),
      decisionID: row.optionalBytes("decision").flatMap { DecisionID(bytes: $0) })
    state = State(rawValue: row["state"]) ?? .failed
    attempts = row["attempts"]
    lastAttemptAt = Timestamp(microseconds: row["last_attempt"])
    nextAttemptAt = Timestamp(microseconds: row["next_attempt"])
    lastStatus = row["last_status"]
    lastError = row["last_error"]
    finishedAt = (row["finished"] as Int64?).map { Timestamp(microseconds: $0) }
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
    answerTag = row.optionalBytes("answer_tag")
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
