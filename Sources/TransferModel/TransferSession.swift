package import JSON

package enum SessionState: String, Sendable, CaseIterable {
  case active, invalidating, invalid
}

/// Which delegate calls go to an HTTP endpoint.
package struct SessionDelegate: Sendable, Equatable {
  package var webhook: Webhook?
  /// The event types it is told; progress is never among them.
  package var events: [EventType] = []
  package init() {}
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

extension SessionDelegate: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.key("webhook")
      guard let webhook else { return writer.null() }
      writer.object { writer in
        writer.field("url", webhook.url)
        writer.arrayField("events", events) { $0.value($1.rawValue) }
        writer.field("answers", false)
      }
    }
  }
}
