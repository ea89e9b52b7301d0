package import TransferModel

/// Expired records to be deleted.
package struct Pruning: Sendable {
  /// Finished tasks that are deleted whole.
  package var tasks: [TaskID] = []
  /// Finished tasks that stay, without their bodies and resume data.
  package var bodies: [TaskID] = []
  /// The first part of the journal.
  package var events: PrunedEvents?
  package var records = ExpiredRecords()
  package let place: StorageTier

  package init(in place: StorageTier = .durable) { self.place = place }
}

/// Records that expire by their age alone.
package struct ExpiredRecords: Sendable, Equatable {
  /// The newest times that count as expired, by kind of record.
  package struct Cutoffs: Sendable {
    package let deliveries: Timestamp
    package let decisions: Timestamp
    package let replies: Timestamp
    package let groups: Timestamp
    package init(deliveries: Timestamp, decisions: Timestamp, replies: Timestamp, groups: Timestamp) {
      self.deliveries = deliveries
      self.decisions = decisions
      self.replies = replies
      self.groups = groups
    }
  }
  /// A stored reply. A newer reply may have replaced it under its key meanwhile.
  package struct Reply: Sendable, Equatable {
    package let key: IdempotencyKey
    package let createdAt: Timestamp
    package init(key: IdempotencyKey, createdAt: Timestamp) {
      self.key = key
      self.createdAt = createdAt
    }
  }

  /// Deliveries that have succeeded or were given up.
  package var deliveries: [DeliveryID] = []
  /// Decisions that were made or withdrawn.
  package var decisions: [DecisionID] = []
  package var replies: [Reply] = []
  /// Groups without tasks that are open or completed. A task may have joined such a group meanwhile.
  package var groups: [TaskGroupKey] = []

  package init() {}

  package var count: Int { deliveries.count + decisions.count + replies.count + groups.count }
}
