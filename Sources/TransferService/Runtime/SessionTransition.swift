internal import Ledger
internal import TransferCore
internal import TransferModel

/// The result of one update to a session's machine, queued to be carried out.
struct SessionTransition: Sendable {
  var effects: SessionEffects
  /// The clocks at the time of the update.
  let now: InputContext
  /// The session after the update.
  var session: TransferSession
  /// The results of delivery attempts, written in the same commit.
  var attempts: [WebhookDelivery] = []
  /// The tasks that the transition creates, if any. The ledger may refuse such a transition.
  var creation: TaskCreation?
  /// Called in order after the commit, or with `false` if another service owns the session now.
  var onCommit: [@Sendable (_ holds: Bool) -> Void] = []

  var isEmpty: Bool { effects.isEmpty && attempts.isEmpty && creation == nil && onCommit.isEmpty }
}

/// A client's request to create tasks, all or none.
struct TaskCreation: Sendable {
  let tasks: [TaskID]
  /// Makes the reply that is stored under the Idempotency-Key, in the same commit.
  let reply: @Sendable ([TransferTask]) -> IdempotentReply?
  /// Called after the commit, or with the error if no task was created.
  let onDecision: @Sendable (LedgerError?) -> Void
}

/// A closure that changes a session.
typealias SessionUpdate = @Sendable (inout SessionMachine, inout SessionTransition) -> Void

extension SessionMachine {
  /// Gives an input to the machine and adds its effects to the transition.
  @discardableResult
  mutating func apply(_ input: SessionInput, _ step: inout SessionTransition) -> InputResult {
    handle(input, at: step.now, into: &step.effects)
  }
}
