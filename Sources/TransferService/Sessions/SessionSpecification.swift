package import TransferModel

/// What a client asks for when it creates a session.
package struct SessionSpecification: Sendable {
  package var type = SessionType.default
  package var description: String?
  package var configuration = SessionConfiguration()
  package var delegate: SessionDelegate?
  /// Of a background session, and of no other.
  package var identifier: String?

  package init() {}
}
