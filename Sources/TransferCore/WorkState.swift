package import TransferModel

/// The progress of a background task in the worker. One sealed row of the ledger.
///
/// `TaskExecutionState` is the service's view of a task; this is what the worker does and will try next. Either process may be ahead of the
/// other. The two meet only in commands and worker reports, and in `ReceivedCommands` when the service restarts.
package struct WorkState: AttemptProgress, Sendable, Equatable {
  package enum Cancellation: String, Sendable {
    case keepingPartial, droppingPartial
  }

  package init() {}

  /// The attempts begun, without those that their process lost, and the attempts that another one followed.
  package var attempts = 0
  package var retries = 0
  /// The number of failed attempts since one got further than all earlier ones.
  package var failures = 0
  /// The highest byte offset that an attempt reached.
  package var furthest: Int64 = 0
  package var isSuspended = false
  /// Set if the task was cancelled and must end as cancelled; says whether its partial body is kept as resume data.
  package var cancellation: Cancellation?
  /// Whether the begin date has come and was reported.
  package var hasBegun = false
  /// The request as submitted. The task's own row has the request after redirects.
  package var request: TransferRequest?
  /// The start of the first attempt, from which timeoutIntervalForResource counts.
  package var startedAt: Timestamp?
  /// The time of the suspension; `nil` if the task is not suspended.
  package var suspendedAt: Timestamp?
  /// The earliest start of the next attempt, and its delay in seconds when it was set.
  package var retryAt: Timestamp?
  package var retryDelay: Double?
  /// The bytes on disk from which an attempt can continue. At first, the resume point that the client supplied.
  package var partial: ResumePoint?
  /// Whether an attempt was running when this row was written.
  package var isActive = false
  /// The crashes of workers that were running the task: `deaths` in a row, without a long enough attempt in between, and `crashes` in all.
  package var deaths = 0
  package var crashes = 0
  /// The number of decisions requested in all attempts, which is the number of the last one.
  package var decisionCount = 0
  /// The challenge that waits for an answer, and the answered ones. An attempt that meets the same challenge again gets the same answer.
  package var openChallenge: ChallengeIdentity?
  package var answers: [AnsweredChallenge] = []

  package mutating func resume(at time: Timestamp) {
    isSuspended = false
    endSuspension(at: time)
  }

  /// Whether so many workers crashed during the task that it must be tried alone, even though its attempts lived for a while.
  package var crashesOften: Bool { crashes >= 20 }

  /// Whether the task may be on trial: other suspects wait until its attempt has lived for a while.
  package var isOnProbation: Bool { deaths > 0 || crashesOften }

  /// Returns whether a decision of this number is the one that waits.
  package func waits(for number: Int) -> Bool { openChallenge != nil && number == decisionCount }
}

/// The parts of a challenge by which another attempt recognises it.
package struct ChallengeIdentity: Sendable, Equatable {
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
  package let challenge: ChallengeIdentity
  package let answer: ChallengeAnswer

  package init(challenge: ChallengeIdentity, answer: ChallengeAnswer) {
    self.challenge = challenge
    self.answer = answer
  }
}
