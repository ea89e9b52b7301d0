package import JSON

extension TransferTask: JSONEncodable {
  /// Writes the task as clients see it.
  package func encode(into writer: inout JSONWriter) {
    writer.object { encodeMembers(into: &$0) }
  }

  /// Writes the task with the bytes of its body: as `text` if they are UTF-8, else as `base64`.
  package func encode(into writer: inout JSONWriter, inlineBody: [UInt8]) {
    writer.object { encodeMembers(into: &$0, inlineBody: inlineBody) }
  }

  /// Writes the members of the task's object. The caller may add others.
  package func encodeMembers(into writer: inout JSONWriter, inlineBody: [UInt8]? = nil) {
    writer.field("id", id)
    writer.field("sessionId", sessionID)
    writer.field("taskIdentifier", taskIdentifier)
    writer.field("kind", kind.rawValue)
    writer.field("state", state.rawValue)
    writer.field("phase", phase?.rawValue)
    writer.field("description", description)
    writer.field("priority", priority)
    writer.field("earliestBeginDate", earliestBeginDate)
    writer.field("maximumBytesPerSecond", maximumBytesPerSecond)
    preferences.encodeMembers(into: &writer)
    if let destination {
      writer.objectField("destination") { writer in
        writer.field("file", body?.placed?.file ?? destination.file)
        writer.field("ifExists", destination.ifExists.rawValue)
      }
    }
    if isDiscretionary { writer.field("isDiscretionary", true) }
    writer.field("originalRequest", originalRequest)
    writer.field("currentRequest", currentRequest)
    writer.field("response", response)
    writer.objectField("progress") { progress.encodeMembers(into: &$0, fractionCompleted: fractionCompleted) }
    writer.field("error", error)
    if let outcome { writer.field("outcome", outcome.rawValue) }
    encodeBody(into: &writer, inlineBody)
    writer.field("retryCount", retryCount)
    shownRetryWait?.encodeMembers(into: &writer)
    if let downloadTask { writer.field("downloadTaskId", downloadTask) }
    writer.key("completion")
    if let completion {
      writer.object { $0.objectField("webhook") { $0.field("url", completion.url) } }
    } else {
      writer.null()
    }
    writer.field("createdAt", createdAt)
    writer.field("startedAt", startedAt)
    writer.field("completedAt", completedAt)
  }

  private func encodeBody(into writer: inout JSONWriter, _ inline: [UInt8]?) {
    guard let body, let inline else { return writer.field("body", body) }
    writer.objectField("body") { writer in
      body.encodeMembers(into: &writer)
      if let text = String(validating: inline, as: UTF8.self) {
        writer.field("text", text)
      } else {
        writer.field("base64", Base64.encode(inline))
      }
    }
  }
}

extension RetryWait {
  func encodeMembers(into writer: inout JSONWriter) {
    writer.field("lastError", Optional(lastError))
    writer.field("nextAttemptAt", nextAttemptAt)
  }
}

extension TransferTask {
  /// The completed fraction, with the client's estimates for unknown totals; `nil` if a total is unknown and has no estimate.
  package var fractionCompleted: Double? {
    if let known = progress.fractionCompleted() { return known }
    let guess = (
      preferences.countOfBytesClientExpectsToSend, preferences.countOfBytesClientExpectsToReceive
    )
    // An estimate serves running tasks only. A successful task is complete, even if the estimate was wrong.
    if state == .completed, guess.0 >= 0 || guess.1 >= 0 { return error == nil ? 1 : nil }
    return progress.fractionCompleted(expecting: guess.0, guess.1)
  }
}

extension TaskProgress: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { encodeMembers(into: &$0, fractionCompleted: fractionCompleted()) }
  }

  fileprivate func encodeMembers(into writer: inout JSONWriter, fractionCompleted: Double?) {
    writer.field("countOfBytesSent", countOfBytesSent)
    writer.field("countOfBytesExpectedToSend", countOfBytesExpectedToSend)
    writer.field("countOfBytesReceived", countOfBytesReceived)
    writer.field("countOfBytesExpectedToReceive", countOfBytesExpectedToReceive)
    writer.field("fractionCompleted", fractionCompleted)
  }

  /// Returns the completed fraction of the bytes to send and to receive; `nil` while a total is unknown.
  /// - Parameters:
  ///   - toSend: the client's estimate for an unknown total, used until the count exceeds it; -1 if there is none.
  ///   - toReceive: the same for the bytes to receive.
  package func fractionCompleted(expecting toSend: Int64 = -1, _ toReceive: Int64 = -1) -> Double? {
    let sending = countOfBytesExpectedToSend >= 0 ? countOfBytesExpectedToSend : toSend
    let receiving = countOfBytesExpectedToReceive >= 0 ? countOfBytesExpectedToReceive : toReceive
    let isGuess = (countOfBytesExpectedToSend < 0, countOfBytesExpectedToReceive < 0)
    guard sending >= 0, receiving >= 0, !isGuess.0 || countOfBytesSent <= sending,
      !isGuess.1 || countOfBytesReceived <= receiving
    else { return nil }
    // An origin may announce any length, so the sum must not overflow.
    let total = Double(receiving) + Double(sending)
    guard total > 0 else { return 1 }
    return min(1, (Double(countOfBytesReceived) + Double(countOfBytesSent)) / total)
  }
}

extension TaskBody: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { encodeMembers(into: &$0) }
  }

  fileprivate func encodeMembers(into writer: inout JSONWriter) {
    writer.field("size", size)
    writer.field("sha256", sha256)
    writer.field("expiresAt", expiresAt)
  }
}
