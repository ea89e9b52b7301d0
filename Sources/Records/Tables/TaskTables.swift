package import TransferModel

// The two documents of a task's row: its specification, and its state.

extension TransferTask {
  /// Returns whether another task has the same specification.
  package func isSpecified(like other: TransferTask) -> Bool {
    specificationDocument == other.specificationDocument
  }

  package var specificationDocument: [UInt8] {
    let specification = specification
    return Document.write { coder throws(RecordFault) in
      _ = try TaskSpecification.members(&coder, specification, kind: kind, body: nil)
    }
  }

  package var outcomeDocument: [UInt8] {
    var task = self
    return Document.write { coder throws(RecordFault) in try task.outcomeMembers(&coder) }
  }

  /// Restores the task's state from its second document.
  package mutating func restore(_ document: [UInt8]) throws(RecordFault) {
    var task = self
    try Document.read(document) { coder throws(RecordFault) in try task.outcomeMembers(&coder) }
    self = task
  }

  private mutating func outcomeMembers(_ coder: inout RecordCoder) throws(RecordFault) {
    try requestMembers(&coder)
    try coder.field("response", response) { response = $0 }
    try coder.field("error", error) { error = $0 }
    try progress.members(&coder)
    try coder.field("retryCount", retryCount > 0 ? retryCount : nil) { retryCount = $0 }
    try coder.field("retryWait", retryWait) { retryWait = $0 }
    try coder.field("retryProgress", retryProgress) { retryProgress = $0 }
    if coder.isReading, let request = retryProgress?.request {
      startRequest = StartRequest(request)
      retryProgress?.request = nil
    }
    try coder.field("hasWaitedForConnectivity", &hasWaitedForConnectivity, else: false)
    try coder.field("hasToldOffset", &didReportResumeOffset, else: false)
    try coder.field("wasHandedOver", firstAttempt == .submitted ? true : nil) { _ in firstAttempt = .submitted
    }
    try coder.field("startedAt", startedAt) { firstAttempt = .started($0) }
    try coder.field("completedAt", &completedAt)
    try coder.field("goesOn", executionState.goesOn ? true : nil) { executionState = .idle(goesOn: $0) }
    if coder.isReading, state == .running { activity = usualPhase }
    try coder.field("phase", phase == usualPhase ? nil : phase) { activity = $0 }
    try coder.field("partial", partial) { partial = $0 }
    try coder.field("partialExpiresAt", &partialExpiresAt)
    try coder.field("downloadTask", &downloadTask)
    try coder.field("body", body) { body = $0 }
    try coder.field("placement", placement) { placement = $0 }
  }

  /// Writes or reads the current request and the start request, which are stored only if they differ from the original request. If the
  /// delegate has replaced the body, it is stored as `currentBody` or `startBody`.
  private mutating func requestMembers(_ coder: inout RecordCoder) throws(RecordFault) {
    let current = coder.isReading || isAtOriginalRequest ? nil : currentRequest
    let found = try storedRequest(&coder, "currentRequest", current, body: "currentBody")
    let start = coder.isReading ? nil : startRequest
    let began = try storedRequest(&coder, "startRequest", start?.request, body: "startBody")
    if coder.isReading {
      if let found { currentRequest = found }
      startRequest = began.map { StartRequest($0) }
    }
    let changes = start.flatMap { $0.changes > 0 ? $0.changes : nil }
    try coder.field("requestChanges", changes) { startRequest?.changes = $0 }
  }

  private func storedRequest(
    _ coder: inout RecordCoder, _ name: StaticString, _ request: TransferRequest?, body: StaticString
  ) throws(RecordFault) -> TransferRequest? {
    let first = originalRequest.body?.ownBytes
    let own = try coder.bytes(body, request?.body?.ownBytes.flatMap { $0 == first ? nil : $0 })
    return try coder.object(name, request) { coder, request throws(RecordFault) in
      try TransferRequest.members(&coder, request, bytes: .separate(own ?? first))
    }
  }
}

extension TaskSpecification {
  /// Reads a specification.
  /// - Parameters:
  ///   - kind: the kind, from a separate column.
  ///   - body: the bytes of the request's body, or the key of its file, from a separate column.
  package init(document: [UInt8], kind: TaskKind, body: [UInt8]?) throws(RecordFault) {
    self = try Document.read(document) { coder throws(RecordFault) in
      try Self.members(&coder, nil, kind: kind, body: body)
    }
  }

  fileprivate static func members(
    _ coder: inout RecordCoder, _ value: Self?, kind: TaskKind, body: [UInt8]?
  ) throws(RecordFault) -> Self {
    let request = try coder.object("request", value?.request) { coder, request throws(RecordFault) in
      try TransferRequest.members(&coder, request, bytes: .separate(body))
    }
    guard let request else { throw coder.fault("request", "is missing") }
    var specification = value ?? TaskSpecification(kind: kind, request: request)
    try specification.members(&coder)
    return specification
  }

  private mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("description", &description)
    try coder.field("priority", &priority, else: Self.defaultPriority)
    try coder.field("earliestBeginDate", &earliestBeginDate)
    try coder.field("maximumBytesPerSecond", &maximumBytesPerSecond)
    try coder.field("resumePoint", &resumePoint)
    try coder.field("isDiscretionary", &isDiscretionary, else: false)
    try coder.field("hasInvalidResumeData", &hasInvalidResumeData, else: false)
    try coder.field("isAwaited", &isAwaited, else: false)
    try coder.field("completion", &completion)
    try preferences.members(&coder, of: kind)
  }
}

extension TaskPreferences {
  fileprivate mutating func members(_ coder: inout RecordCoder, of kind: TaskKind) throws(RecordFault) {
    try coder.field("countOfBytesClientExpectsToSend", &countOfBytesClientExpectsToSend, else: -1)
    try coder.field("countOfBytesClientExpectsToReceive", &countOfBytesClientExpectsToReceive, else: -1)
    try coder.field(
      "prefersIncrementalDelivery", &prefersIncrementalDelivery,
      else: TaskPreferences(of: kind).prefersIncrementalDelivery)
    try coder.field("delegate", &delegate)
    try coder.field("group", &group)
    try coder.field("labels", labels.isEmpty ? nil : labels) { labels = $0 }
    try coder.field("failOnStatus", &requirements.failsOnStatus, else: false)
    try coder.field("expected", &requirements.expected)
    try coder.field("retry", &retry)
    try coder.field("retryOf", &retryOf)
    try coder.field("destination", &destination)
  }
}

extension TaskLabel: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    TaskLabel(
      key: try coder.required("key", value?.key), value: try coder.required("value", value?.value))
  }
}

extension RetryProgress: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("attempts", &attempts)
    try coder.field("failures", &failures, else: 0)
    try coder.field("furthest", &furthest, else: 0)
    try coder.field("isActive", &isActive, else: false)
    try coder.field("deaths", &deaths, else: 0)
    try coder.field("delay", &delay)
    try coder.field("startedAt", &startedAt)
    try coder.field("suspendedAt", &suspendedAt)
    try coder.field("request", &request)
  }
}

extension ExpectedBody: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    ExpectedBody(
      size: try coder.optional("size", value?.size), sha256: try coder.optional("sha256", value?.sha256))
  }
}

extension TaskBody: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    TaskBody(
      size: try coder.required("size", value?.size), sha256: try coder.required("sha256", value?.sha256),
      expiresAt: try coder.optional("expiresAt", value?.expiresAt),
      blob: try coder.optional("blob", value?.blob),
      placed: try coder.optional("placed", value?.placed))
  }
}
