package import JSON

package enum SessionState: String, Sendable, CaseIterable {
  case active, invalidating, invalid
}

/// A session (URLSession): a configuration, a delegate and the tasks created in it.
package struct TransferSession: Sendable, Equatable {
  package let id: SessionID
  package let createdAt: Timestamp
  package let description: String?
  package let configuration: SessionConfiguration
  package let delegate: SessionDelegate?
  package var state = SessionState.active

  package init(
    id: SessionID, createdAt: Timestamp, description: String?, configuration: SessionConfiguration,
    delegate: SessionDelegate?
  ) {
    self.id = id
    self.createdAt = createdAt
    self.description = description
    self.configuration = configuration
    self.delegate = delegate
  }

  /// `URLSession.shared`: default configuration, no delegate, never invalid.
  package static var shared: TransferSession {
    TransferSession(
      id: .shared, createdAt: Timestamp(microseconds: 0), description: nil,
      configuration: SessionConfiguration(), delegate: nil)
  }
}

extension TransferSession: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("id", id.description)
      writer.field("type", "default")
      writer.field("state", state.rawValue)
      writer.field("description", description)
      writer.field("createdAt", createdAt.description)
      writer.field("configuration", Optional(configuration))
      writer.field("delegate", delegate)
    }
  }
}
