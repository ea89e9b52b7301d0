package import TransferModel

/// What must hold for a change to be written. It is checked inside the transaction, before anything of the change is written; where it
/// does not hold, nothing is, and the change is refused (`StoreError.unmet`).
package indirect enum Condition: Sendable, Equatable {
  /// No reply is kept under the key that is younger than that.
  case keyAbsent(IdempotencyKey, since: Timestamp)
  /// The configuration is the one of that time; nil: none has the name.
  case revision(ConfigurationName, updatedAt: Timestamp?)
  /// The task's specification has not changed since it was read.
  case unchanged(TransferTask)
}

extension StoreChange {
  /// Keeps a reply for those who repeat the request that the change carries out. Where one is kept already, another process carries that
  /// request out, or has done so, and the change is refused.
  /// - Parameter session: whose tasks the reply tells of.
  package mutating func answer(_ reply: IdempotentReply?, about session: SessionID? = nil) {
    guard let reply else { return }
    idempotentReply = reply
    repliedSession = session
    let oldest = reply.createdAt.adding(seconds: -IdempotentReply.retention)
    conditions.append(.keyAbsent(reply.key, since: oldest))
  }

  /// Keeps another reply in place of the one that this process has kept.
  package mutating func replaceReply(_ reply: IdempotentReply, about session: SessionID?) {
    idempotentReply = reply
    repliedSession = session
  }
}
