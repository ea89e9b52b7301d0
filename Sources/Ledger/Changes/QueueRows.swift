package import TransferModel

/// A command for the worker, as a document of the service.
package struct StoredCommand: Sendable, Equatable {
  package let session: SessionID
  package let document: String
  package init(session: SessionID, document: String) {
    self.session = session
    self.document = document
  }
}

/// The worker's state of one task.
package struct StoredWork: Sendable, Equatable {
  package let task: TaskID
  package let session: SessionID
  package let document: String
  package init(task: TaskID, session: SessionID, document: String) {
    self.task = task
    self.session = session
    self.document = document
  }
}

/// A row of a queue in the ledger. Rows are numbered in commit order.
package struct QueueRow<Content: Sendable>: Sendable {
  package let number: Int64
  package let content: Content
  package init(number: Int64, content: Content) {
    self.number = number
    self.content = content
  }
}
