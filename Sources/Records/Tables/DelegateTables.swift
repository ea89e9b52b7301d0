package import TransferModel

extension Webhook: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    Webhook(
      url: try coder.required("url", value?.url), secret: try coder.optional("secret", value?.secret),
      order: try coder.member("order", value?.order, else: .task))
  }
}

extension SessionDelegate: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("sessionChallenges", &sessionChallenges)
    try coder.field("taskChallenges", &taskChallenges)
    try coder.field("asksForRedirects", &asksForRedirects, else: false)
    try coder.field("asksForResponses", &asksForResponses, else: false)
    try coder.field("asksForCaching", &asksForCaching, else: false)
    try coder.field("asksForDelayedRequests", &asksForDelayedRequests, else: false)
    try coder.field("decisionTimeout", &decisionTimeout)
    try coder.field("webhook", &webhook)
    try coder.field("events", &events, else: [])
    try coder.field("webhookAnswers", &webhookAnswers, else: false)
  }
}

extension TaskDelegate: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    TaskDelegate(
      try coder.required("values", value?.values),
      given: Set(try coder.required("given", value.map { $0.given.sorted { $0.rawValue < $1.rawValue } })))
  }
}

extension TaskDelegate.Member: RecordValue {}
