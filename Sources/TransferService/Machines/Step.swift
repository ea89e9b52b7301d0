internal import Ledger
internal import TransferCore
internal import TransferModel

/// What one visit to a session's machine came to, to be carried out in its turn.
struct Step: Sendable {
  var turn: Turn
  /// When the machine was visited.
  let now: Now
  /// The session as the visit left it.
  var session: TransferSession
  /// What came of attempts to deliver messages, written with it.
  var attempts: [WebhookDelivery] = []
  /// The tasks that it creates, where it creates some: then it may be refused.
  var creation: Creation?
  /// Called once it is committed, in order; or once it never will be, since the session is another process's by now.
  var settled: [@Sendable (_ holds: Bool) -> Void] = []

  var isEmpty: Bool { turn.isEmpty && attempts.isEmpty && creation == nil && settled.isEmpty }
}

/// Tasks that a client wants, all or none.
struct Creation: Sendable {
  let tasks: [TaskID]
  /// What repeats of the request get, written with the tasks.
  let reply: @Sendable ([TransferTask]) -> IdempotentReply?
  /// Called once the tasks are committed, or refused: then there are none.
  let decided: @Sendable (StoreError?) -> Void
}

/// Something that is done to a session's machine.
typealias Visit = @Sendable (inout SessionMachine, inout Step) -> Void

extension SessionMachine {
  /// Gives the machine an input, and adds what that comes to.
  @discardableResult
  mutating func take(_ input: Input, _ step: inout Step) -> Reply {
    handle(input, at: step.now, into: &step.turn)
  }
}
