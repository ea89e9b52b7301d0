package import TransferModel

/// A condition of a change. The transaction checks it before it writes the change. If the condition fails, nothing is written and the
/// change is refused (`LedgerError.conditionFailed`).
package indirect enum ChangeCondition: Sendable, Equatable {
  /// No reply younger than `since` is stored under the key.
  case keyAbsent(IdempotencyKey, since: Timestamp)
  /// The configuration was last updated at this time, or `nil` if no configuration may have the name.
  case revision(ConfigurationName, updatedAt: Timestamp?)
  /// The endpoint has this revision, or `nil` if it does not exist.
  case endpointRevision(EndpointID, Int?)
  /// The delivery has this state and this number of attempts.
  case deliveryState(DeliveryID, WebhookDelivery.State, attempts: Int)
  /// The task's specification has not changed since it was read.
  case unchanged(TransferTask)
  /// The group accepts new tasks: it does not exist, or is open.
  case groupOpen(TaskGroupKey)
  /// The group is closed and not completed, and its tasks, all of which have ended, have these counts.
  case groupEnded(TaskGroupKey, GroupCounts)
}

extension LedgerChange {
  /// Stores the reply for repeated requests with the same Idempotency-Key. If a reply is already stored, another process has carried the
  /// request out, and the change is refused.
  /// - Parameter session: the session that the reply is about.
  package mutating func answer(_ reply: IdempotentReply?, about session: SessionID? = nil) {
    guard let reply else { return }
    idempotentReply = reply
    repliedSession = session
    let oldest = reply.createdAt.adding(seconds: -IdempotentReply.retention)
    conditions.append(.keyAbsent(reply.key, since: oldest))
  }

  /// Replaces the reply that this process has stored.
  package mutating func replaceReply(_ reply: IdempotentReply, about session: SessionID?) {
    idempotentReply = reply
    repliedSession = session
  }
}
