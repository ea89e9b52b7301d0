package import Records
package import TransferCore
internal import TransferModel

extension WorkState: MutableRecord {
  package mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("attempts", &attempts, else: 0)
    try coder.field("retries", &retries, else: 0)
    try coder.field("failures", &failures, else: 0)
    try coder.field("furthest", &furthest, else: 0)
    try coder.field("isSuspended", &isSuspended, else: false)
    try coder.field("cancellation", &cancellation)
    try coder.field("hasBegun", &hasBegun, else: false)
    try coder.field("request", &request)
    try coder.field("startedAt", &startedAt)
    try coder.field("suspendedAt", &suspendedAt)
    try coder.field("retryAt", &retryAt)
    try coder.field("retryDelay", &retryDelay)
    try coder.field("partial", &partial)
    try coder.field("isActive", &isActive, else: false)
    try coder.field("deaths", &deaths, else: 0)
    try coder.field("crashes", &crashes, else: 0)
    try coder.field("questions", &decisionCount, else: 0)
    try coder.field("question", &openChallenge)
    try coder.field("answers", &answers, else: [])
  }
}

extension WorkState.Cancellation: RecordValue {}

extension ChallengeIdentity: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    ChallengeIdentity(
      protectionSpace: try coder.required("protectionSpace", value?.protectionSpace),
      serverTrust: try coder.optional("serverTrust", value?.serverTrust))
  }
}

extension AnsweredChallenge: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    AnsweredChallenge(
      challenge: try coder.required("challenge", value?.challenge),
      answer: try coder.required("answer", value?.answer))
  }
}
