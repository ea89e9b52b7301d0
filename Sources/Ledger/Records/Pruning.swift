package import TransferModel

/// Records to be deleted because they have expired.
package struct Pruning: Sendable {
  /// Finished tasks, with all that is in their rows.
  package var tasks: [TaskID] = []
  /// Finished tasks that stay, without their bodies and what they could go on from.
  package var bodies: [TaskID] = []
  /// The beginning of the journal.
  package var events: PrunedEvents?
  package var records = StaleRecords()
  package let place: RetainedPlace

  package init(in place: RetainedPlace = .durable) { self.place = place }
}

/// Records that expire by their age alone.
package struct StaleRecords: Sendable, Equatable {
  /// The last instants of what is too old.
  package struct Ages: Sendable {
    package let deliveries: Timestamp
    package let decisions: Timestamp
    package let replies: Timestamp
    package init(deliveries: Timestamp, decisions: Timestamp, replies: Timestamp) {
      self.deliveries = deliveries
      self.decisions = decisions
      self.replies = replies
    }
  }
  /// A reply that repeats got. Another may have taken its key meanwhile.
  package struct Reply: Sendable, Equatable {
    package let key: IdempotencyKey
    package let createdAt: Timestamp
    package init(key: IdempotencyKey, createdAt: Timestamp) {
      self.key = key
      self.createdAt = createdAt
    }
  }

  /// Messages that were taken or given up.
  package var deliveries: [DeliveryID] = []
  /// Decisions that were made, or withdrawn.
  package var decisions: [DecisionID] = []
  package var replies: [Reply] = []

  package init() {}

  package var count: Int { deliveries.count + decisions.count + replies.count }
}
