internal import HTTPFields
package import JSON
package import TransferModel

extension TaskProgress: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("sent", &countOfBytesSent, else: 0)
    try coder.field("expectedToSend", &countOfBytesExpectedToSend, else: 0)
    try coder.field("received", &countOfBytesReceived, else: 0)
    try coder.field("expected", &countOfBytesExpectedToReceive, else: -1)
  }
}

extension RetryWait: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    RetryWait(
      lastError: try coder.required("lastError", value?.lastError),
      nextAttemptAt: try coder.required("nextAttemptAt", value?.nextAttemptAt))
  }
}

extension TransferOutcome: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    var outcome = TransferOutcome(
      error: try coder.optional("error", value?.error),
      currentRequest: try coder.required("currentRequest", value?.currentRequest),
      response: try coder.optional("response", value?.response),
      progress: try coder.required("progress", value?.progress),
      transactions: try coder.required("transactions", value?.transactions),
      endedAt: try coder.required("endedAt", value?.endedAt))
    let isInFile = try coder.member("isInFile", value?.body?.isFile, else: false)
    let bytes = try coder.bytes("body", value?.body?.bytes)
    outcome.body = isInFile ? .file : bytes.map { .memory($0) }
    outcome.blob = try coder.optional("blob", value?.blob)
    outcome.partial = try coder.optional("partial", value?.partial)
    outcome.size = try coder.member("size", value?.size, else: 0)
    outcome.sha256 = try coder.member("sha256", value?.sha256, else: "")
    return outcome
  }
}

extension TransferOutcome.Body {
  fileprivate var bytes: [UInt8]? { if case .memory(let bytes) = self { bytes } else { nil } }
}

/// Stored as null: only the process that has the body can use the reference.
extension BodyReference: RecordValue {
  package func write(to coder: inout RecordCoder) { coder.writer.null() }
  package static func read(_ json: JSONValue) throws(RecordFault) -> BodyReference { BodyReference(nil) }
}

extension TransferFact: RecordCases {
  package static let cases: [RecordCase<Self>] = [
    RecordCase("began", Self.began) { if case .began(let task, let time) = $0 { (task, time) } else { nil } },
    RecordCase("redirected", Self.redirected) {
      if case .redirected(let a, let b, let c, let d) = $0 { (a, b, c, d) } else { nil }
    },
    RecordCase("notified", Self.notified) {
      if case .notified(let task, let notification, let time) = $0 { (task, notification, time) } else { nil }
    },
    RecordCase("response", Self.response) {
      if case .response(let a, let b, let c, let d) = $0 { (a, b, c, d) } else { nil }
    },
    RecordCase("accepted", Self.accepted) {
      if case .accepted(let task, let response) = $0 { (task, response) } else { nil }
    },
    RecordCase("willCache", Self.willCache) {
      if case .willCache(let a, let b, let c, let d) = $0 { (a, b, c, d) } else { nil }
    },
    RecordCase("waitsForConnectivity", Self.waitsForConnectivity) {
      if case .waitsForConnectivity(let task, let time) = $0 { (task, time) } else { nil }
    },
    RecordCase("asked", Self.asked) {
      if case .asked(let a, let b, let c, let d) = $0 { (a, b, c, d) } else { nil }
    },
    RecordCase("resumed", Self.resumed) {
      if case .resumed(let a, let b, let c, let d) = $0 { (a, b, c, d) } else { nil }
    },
    RecordCase("keeps", Self.keptPartial) {
      if case .keptPartial(let task, let point) = $0 { (task, point) } else { nil }
    },
    RecordCase("authenticated", Self.authenticated) {
      if case .authenticated(let a, let b, let c) = $0 { (a, b, c) } else { nil }
    },
    RecordCase("progress", Self.progress) {
      if case .progress(let task, let progress, let time) = $0 { (task, progress, time) } else { nil }
    },
    RecordCase("ended", Self.ended) {
      if case .ended(let task, let outcome) = $0 { (task, outcome) } else { nil }
    },
    RecordCase("retries", Self.willRetry) {
      if case .willRetry(let a, let b, let c, let d) = $0 { (a, b, c, d) } else { nil }
    },
    RecordCase("beganDelayed", Self.beganDelayed) {
      if case .beganDelayed(let task, let time) = $0 { (task, time) } else { nil }
    },
    RecordCase("wasTakenOver", Self.attemptReplaced) {
      if case .attemptReplaced(let task, let time) = $0 { (task, time) } else { nil }
    },
  ]
}

extension TransferNotification: RecordCases {
  package static let cases: [RecordCase<Self>] = [
    RecordCase("informational", Self.informational) {
      if case .informational(let status, let headers) = $0 { (status, headers) } else { nil }
    }
  ]
}

extension TaskCommand: RecordCases {
  package static let cases: [RecordCase<Self>] = [
    RecordCase("suspend", .suspend) { if case .suspend = $0 { true } else { false } },
    RecordCase("resume", .resume) { if case .resume = $0 { true } else { false } },
    RecordCase("cancel", Self.cancel) { if case .cancel(let keeps) = $0 { keeps } else { nil } },
    RecordCase("setPriority", Self.setPriority) {
      if case .setPriority(let priority) = $0 { priority } else { nil }
    },
    RecordCase("setLimit", Self.setLimit) { if case .setLimit(let limit) = $0 { .some(limit) } else { nil } },
    RecordCase("setBeginDate", Self.setBeginDate) {
      if case .setBeginDate(let date) = $0 { .some(date) } else { nil }
    },
    RecordCase("changeRequest", Self.changeRequest) {
      if case .changeRequest(let change) = $0 { change } else { nil }
    },
    RecordCase("retryNow", .retryNow) { if case .retryNow = $0 { true } else { false } },
    RecordCase("answer", Self.answer) {
      if case .answer(let answer, let question) = $0 { (answer, question) } else { nil }
    },
  ]
}

extension TransferQuestion: RecordCases {
  package static let cases: [RecordCase<Self>] = [
    RecordCase("redirect", Self.redirect) {
      if case .redirect(let response, let proposed) = $0 { (response, proposed) } else { nil }
    },
    RecordCase("challenge", Self.challenge) {
      if case .challenge(let challenge, let type) = $0 { (challenge, type) } else { nil }
    },
    RecordCase("response", Self.response) {
      if case .response(let response, let body) = $0 { (response, body) } else { nil }
    },
    RecordCase("caching", Self.caching) {
      if case .caching(let response, let size) = $0 { (response, size) } else { nil }
    },
    RecordCase("bodyStream", .bodyStream) { if case .bodyStream = $0 { true } else { false } },
  ]
}

extension TransferAnswer: RecordCases {
  package static let cases: [RecordCase<Self>] = [
    RecordCase("redirect", Self.redirect) {
      if case .redirect(let request) = $0 { .some(request) } else { nil }
    },
    RecordCase("challenge", Self.challenge) {
      if case .challenge(let answer) = $0 { answer } else { nil }
    },
    RecordCase("allow", .allow) { if case .allow = $0 { true } else { false } },
    RecordCase("becomeDownload", Self.becomeDownload) {
      if case .becomeDownload(let task) = $0 { task } else { nil }
    },
    RecordCase("caching", Self.caching) {
      if case .caching(let policy, let headers) = $0 { (policy, headers) } else { nil }
    },
    RecordCase("bodyStream", Self.bodyStream) { if case .bodyStream(let body) = $0 { body } else { nil } },
    RecordCase("byDefault", .byDefault) { if case .byDefault = $0 { true } else { false } },
  ]
}
