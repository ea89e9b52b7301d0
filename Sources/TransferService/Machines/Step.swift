internal import TransferCore
internal import TransferModel
internal import TransferStore

/// What one visit to a session's machine came to, to be carried out in its turn.
struct Step: Sendable {
  var turn: Turn
  /// When the machine was visited.
  let now: Now
  /// The session as the visit left it.
  var session: TransferSession
  /// What came of attempts to deliver messages, written with it.
  var attempts: [WebhookDelivery] = []
  /// Called once it is on its way to the store, in order.
  var carriedOut: [@Sendable () -> Void] = []
  /// Called once it is committed, in order.
  var committed: [@Sendable () -> Void] = []

  var isEmpty: Bool { turn.isEmpty && attempts.isEmpty && carriedOut.isEmpty && committed.isEmpty }
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
