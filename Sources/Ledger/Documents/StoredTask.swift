internal import JSON
package import TransferModel

extension TransferTask {
  /// Whether a client has specified the same.
  package func isSpecified(like other: TransferTask) -> Bool {
    specificationDocument == other.specificationDocument
  }

  package var specificationDocument: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field(DocumentVersion.member, DocumentVersion.current)
      writer.field("description", description)
      writer.field("priority", priority)
      writer.field("earliestBeginDate", earliestBeginDate?.microseconds ?? 0)
      writer.field("maximumBytesPerSecond", maximumBytesPerSecond ?? 0)
      encodeLaterMembers(into: &writer)
      if let resumePoint { writer.field("resumePoint", Optional(resumePoint)) }
      if isDiscretionary { writer.field("isDiscretionary", true) }
      if hasInvalidResumeData { writer.field("hasInvalidResumeData", true) }
      if isAwaited { writer.field("isAwaited", true) }
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

  /// What documents of this version got later: where it is not said, it is as it was for all.
  private func encodeLaterMembers(into writer: inout JSONWriter) {
    let preferences = preferences
    if preferences.countOfBytesClientExpectsToSend >= 0 {
      writer.field("countOfBytesClientExpectsToSend", preferences.countOfBytesClientExpectsToSend)
    }
    if preferences.countOfBytesClientExpectsToReceive >= 0 {
      writer.field("countOfBytesClientExpectsToReceive", preferences.countOfBytesClientExpectsToReceive)
    }
    if kind != .download, !preferences.prefersIncrementalDelivery {
      writer.field("prefersIncrementalDelivery", false)
    }
    if let delegate = preferences.delegate {
      writer.objectField("delegate") { delegate.encodeMembers(into: &$0, withSecrets: true) }
    }
  }

  /// How far it has come.
  package var outcomeDocument: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field(DocumentVersion.member, DocumentVersion.current)
      if !isAtOriginalRequest {
        // What a delegate gave in place of the first request may have a body of its own.
        let own = currentRequest.body?.ownBytes.flatMap { $0 == originalRequest.body?.ownBytes ? nil : $0 }
        currentRequest.encodeStored("currentRequest", into: &writer)
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
      if let retryWait {
        writer.objectField("retryWait") { writer in
          writer.field("lastError", Optional(retryWait.lastError))
          writer.field("nextAttemptAt", retryWait.nextAttemptAt.microseconds)
        }
      }
      if hasWaitedForConnectivity { writer.field("hasWaitedForConnectivity", true) }
      if hasToldOffset { writer.field("hasToldOffset", true) }
      if beginning == .submitted { writer.field("wasHandedOver", true) }
      if place.goesOn { writer.field("goesOn", true) }
      if let phase, phase != usualPhase { writer.field("phase", phase.rawValue) }
      if let partial { writer.field("partial", Optional(partial)) }
      if let partialExpiresAt { writer.field("partialExpiresAt", partialExpiresAt.microseconds) }
      if let downloadTask { writer.field("downloadTask", downloadTask) }
      if let body {
        writer.objectField("body") { writer in
          writer.field("size", body.size)
          writer.field("sha256", body.sha256)
          writer.field("expiresAt", body.expiresAt.microseconds)
          if let blob = body.blob { writer.field("blob", blob.description) }
        }
      }
    }
    return writer.bytes
  }

  /// The task stays, without what it left.
  package mutating func forgetBody() {
    body = nil
    partial = nil
    partialExpiresAt = nil
    error?.resumeDataAvailable = false
  }

  /// Takes over how far it has come.
  package mutating func restore(_ stored: inout StoredObject) throws(StoredObject.Fault) {
    let own = try stored.stringIfAny("currentBody")
    let ownBytes = own.flatMap { Base64.decode($0) }
    if own != nil, ownBytes == nil { throw stored.fault("currentBody", "is not base64") }
    if var current = try stored.objectIfAny("currentRequest") {
      currentRequest = try TransferRequest(stored: &current, body: ownBytes ?? originalRequest.body?.ownBytes)
    }
    if var fields = try stored.objectIfAny("response") { response = try TransferResponse(stored: &fields) }
    if var fields = try stored.objectIfAny("error") { error = try TransferError(stored: &fields) }
    progress.countOfBytesSent = try stored.integerIfAny("sent") ?? 0
    progress.countOfBytesExpectedToSend =
      try stored.integerIfAny("expectedToSend") ?? progress.countOfBytesExpectedToSend
    progress.countOfBytesReceived = try stored.integerIfAny("received") ?? 0
    progress.countOfBytesExpectedToReceive = try stored.integerIfAny("expected") ?? -1
    retryCount = try stored.countIfAny("retryCount") ?? 0
    if var fields = try stored.objectIfAny("retryWait") { retryWait = try RetryWait(stored: &fields) }
    hasWaitedForConnectivity = try stored.boolIfAny("hasWaitedForConnectivity") ?? false
    hasToldOffset = try stored.boolIfAny("hasToldOffset") ?? false
    if try stored.boolIfAny("wasHandedOver") == true { beginning = .submitted }
    if try stored.boolIfAny("goesOn") == true { place = .idle(goesOn: true) }
    partial = try stored.resumePointIfAny("partial")
    partialExpiresAt = try stored.timeIfAny("partialExpiresAt")
    downloadTask = try stored.idIfAny("downloadTask")
    if let time = try stored.timeIfAny("startedAt") { beginning = .started(time) }
    completedAt = try stored.timeIfAny("completedAt")
    if state == .running { activity = usualPhase }
    if let text = try stored.stringIfAny("phase") {
      guard let phase = TaskPhase(rawValue: text) else { throw stored.fault("phase", "is none of a task") }
      activity = phase
    }
    guard var fields = try stored.objectIfAny("body") else { return }
    guard let expiresAt = try fields.timeIfAny("expiresAt") else {
      throw fields.fault("expiresAt", "is missing")
    }
    body = TaskBody(
      size: try fields.integer("size"), sha256: try fields.string("sha256"), expiresAt: expiresAt,
      blob: try fields.stampIfAny("blob"))
    try fields.finish()
  }
}

extension RequestContent {
  /// The content of the column `request_body`: the body itself, or the key of its file.
  package var ownBytes: [UInt8]? { data ?? spooled?.key }
}

extension RetryWait {
  fileprivate init(stored: inout StoredObject) throws(StoredObject.Fault) {
    var error = try stored.object("lastError")
    self.init(
      lastError: try TransferError(stored: &error),
      nextAttemptAt: Timestamp(microseconds: try stored.integer("nextAttemptAt")))
    try stored.finish()
  }
}

extension TaskSpecification {
  package init(
    kind: TaskKind, body: [UInt8]?, stored: inout StoredObject
  ) throws(StoredObject.Fault) {
    var request = try stored.object("request")
    self.init(kind: kind, request: try TransferRequest(stored: &request, body: body))
    description = try stored.stringIfAny("description")
    priority = try stored.numberIfAny("priority") ?? Self.defaultPriority
    // One before 1970 is below zero: it is past, and shown as it was sent.
    earliestBeginDate = try stored.integerIfAny("earliestBeginDate").flatMap {
      $0 == 0 ? nil : Timestamp(microseconds: $0)
    }
    maximumBytesPerSecond = try stored.countIfAny("maximumBytesPerSecond").flatMap { $0 > 0 ? $0 : nil }
    resumePoint = try stored.resumePointIfAny("resumePoint")
    hasInvalidResumeData = try stored.boolIfAny("hasInvalidResumeData") ?? false
    isAwaited = try stored.boolIfAny("isAwaited") ?? false
    preferences.countOfBytesClientExpectsToSend =
      try stored.integerIfAny("countOfBytesClientExpectsToSend") ?? -1
    preferences.countOfBytesClientExpectsToReceive =
      try stored.integerIfAny("countOfBytesClientExpectsToReceive") ?? -1
    preferences.prefersIncrementalDelivery = try stored.boolIfAny("prefersIncrementalDelivery") ?? true
    if var fields = try stored.objectIfAny("delegate") {
      let given = fields.names.compactMap { TaskDelegate.Member(rawValue: $0) }
      preferences.delegate = TaskDelegate(try SessionDelegate(stored: &fields), given: Set(given))
    }
    isDiscretionary = try stored.boolIfAny("isDiscretionary") ?? false
    guard var fields = try stored.objectIfAny("completion") else { return }
    completion = Webhook(url: try fields.string("url"), secret: try fields.stringIfAny("secret"))
    try fields.finish()
  }
}
