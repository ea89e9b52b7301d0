package import TransferModel

/// A set of changes that holds as a whole or not at all.
package struct StoreChange: Sendable {
  package var sessions: [TransferSession] = []
  /// The highest taskIdentifier given out in a session.
  package var lastIdentifiers: [SessionID: Int] = [:]
  package var createdTasks: [TransferTask] = []
  package var updatedTasks: [TransferTask] = []
  /// Small bodies; larger ones are files before this change is written.
  package var smallBodies: [TaskID: [UInt8]] = [:]
  /// In order; each gets a sequence number.
  package var events: [TransferEvent] = []
  package var newDeliveries: [WebhookDelivery] = []
  package var updatedDeliveries: [WebhookDelivery] = []
  package var idempotentReply: IdempotentReply?
  package var deletedSession: SessionID?

  package init() {}
}

/// Consecutive events of one task or session, in the form in which streams carry them.
package struct JournalFragment: Sendable, Equatable {
  package let first: Int64
  package let last: Int64
  package let sessionID: SessionID
  package let taskID: TaskID?
  package let bytes: [UInt8]
  /// The task's last event is among them.
  package let endsTask: Bool

  package init(
    first: Int64, last: Int64, sessionID: SessionID, taskID: TaskID?, bytes: [UInt8], endsTask: Bool = false
  ) {
    self.first = first
    self.last = last
    self.sessionID = sessionID
    self.taskID = taskID
    self.bytes = bytes
    self.endsTask = endsTask
  }
}

/// Why the store did not do what it was asked.
package enum StoreError: Error, Sendable {
  /// No room on the disk.
  case full
  /// Cannot be written or read at the moment.
  case unavailable(String)
}
