package import TransferModel

/// How far a background task has come where it is carried out. A row of the store, sealed.
///
/// `TaskPlace` is the service's view of a task; this is what the worker does and will try next. Either process may
/// be ahead of the other. The two meet only in commands and news, and in `Elsewhere` when the service restarts.
package struct WorkState: Sendable, Equatable {
  package enum Cancellation: String, Sendable {
    case keepingPartial, droppingPartial
  }

  package init() {}

  /// Attempts that were begun, but for those that ended with their process; and those that were followed by another.
  package var attempts = 0
  package var retries = 0
  /// Attempts that failed since one got further than those before it.
  package var failures = 0
  /// The farthest byte that an attempt got to.
  package var furthest: Int64 = 0
  package var isSuspended = false
  /// It was cancelled, and is to end so; whether what it has got is kept for resume data.
  package var cancellation: Cancellation?
  /// The begin date has come and was told.
  package var hasBegun = false
  /// As it was handed over: the task's own row tells where redirects have led.
  package var request: TransferRequest?
  /// When the first attempt began: timeoutIntervalForResource counts from here.
  package var startedAt: Timestamp?
  /// Since when it is suspended.
  package var suspendedAt: Timestamp?
  /// The next attempt is not before then, and was so many seconds away.
  package var retryAt: Timestamp?
  package var retryDelay: Double?
  /// What is on the disk to go on from; at first, what the client gave.
  package var partial: ResumePoint?
  /// It was under way when this was written.
  package var isActive = false
  /// Processes that crashed while they carried it out: in a row, without it having lived for long in between, and in all.
  package var deaths = 0
  package var crashes = 0
  /// How many questions were asked, in all attempts: the number of the last one.
  package var questions = 0
  /// The challenge that waits for an answer, and those that were answered: who asks again after a death is told the same.
  package var question: AskedChallenge?
  package var answers: [AnsweredChallenge] = []

  /// A suspended task has no timeouts: the time in which it was counts for nothing.
  package mutating func resume(at time: Timestamp) {
    isSuspended = false
    defer { suspendedAt = nil }
    guard let start = startedAt, let suspendedAt else { return }
    startedAt = start.adding(seconds: max(0, time.since(max(start, suspendedAt))))
  }

  /// So many workers crashed while it was under way that it has to prove itself alone, though each lived for a while.
  package var crashesOften: Bool { crashes >= 20 }

  /// It may be tried alone: others wait until it has lived for a while.
  package var mustProveItself: Bool { deaths > 0 || crashesOften }

  /// Whether an answer to the question of that number is one to the question that waits.
  package func waits(for number: Int) -> Bool { question != nil && number == questions }
}

/// A challenge, as far as another attempt can tell that it meets the same.
package struct AskedChallenge: Sendable, Equatable {
  package let protectionSpace: ProtectionSpace
  package let serverTrust: ServerTrust?

  package init(protectionSpace: ProtectionSpace, serverTrust: ServerTrust?) {
    self.protectionSpace = protectionSpace
    self.serverTrust = serverTrust
  }

  package init(_ challenge: AuthenticationChallenge) {
    self.init(protectionSpace: challenge.protectionSpace, serverTrust: challenge.serverTrust)
  }
}

package struct AnsweredChallenge: Sendable, Equatable {
  package let challenge: AskedChallenge
  package let answer: ChallengeAnswer

  package init(challenge: AskedChallenge, answer: ChallengeAnswer) {
    self.challenge = challenge
    self.answer = answer
  }
}
