package import JSON

package enum SessionState: String, Sendable, CaseIterable {
  case active, invalidating, invalid
}

/// What becomes of what a session keeps.
package enum SessionType: String, Sendable, CaseIterable {
  /// On disk.
  case `default`
  /// In memory only, and wiped with the session.
  case ephemeral
  /// On disk; transfers go on without the API's process.
  case background
}

/// A session (URLSession): a configuration, a delegate and the tasks created in it.
package struct TransferSession: Sendable, Equatable {
  package let id: SessionID
  package let type: SessionType
  package let createdAt: Timestamp
  package let description: String?
  package private(set) var configuration: SessionConfiguration
  package let delegate: SessionDelegate?
  package var state = SessionState.active

  package init(
    id: SessionID, type: SessionType = .default, createdAt: Timestamp, description: String?,
    configuration: SessionConfiguration, delegate: SessionDelegate?
  ) {
    self.id = id
    self.type = type
    self.createdAt = createdAt
    self.description = description
    self.configuration = configuration
    // Its cache has no place on disk.
    if type == .ephemeral { self.configuration.urlCache.diskCapacity = 0 }
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
      writer.field("type", type.rawValue)
      writer.field("state", state.rawValue)
      writer.field("description", description)
      writer.field("createdAt", createdAt.description)
      writer.field("configuration", Optional(configuration))
      writer.field("delegate", delegate)
    }
  }
}
