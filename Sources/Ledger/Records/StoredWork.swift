package import TransferModel

/// Something for the process that carries background tasks out, in the words of the two that talk through the store.
package struct StoredCommand: Sendable, Equatable {
  package let session: SessionID
  package let document: String
  package init(session: SessionID, document: String) {
    self.session = session
    self.document = document
  }
}

/// One of its tasks, and how far it has come with it.
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

/// A row of a queue in the store: they are numbered as they were committed.
package struct Queued<Content: Sendable>: Sendable {
  package let number: Int64
  package let content: Content
  package init(number: Int64, content: Content) {
    self.number = number
    self.content = content
  }
}
