package import TransferModel

/// A client's request for a new session.
package struct SessionSpecification: Sendable {
  package var type = SessionType.default
  package var description: String?
  package var configuration = SessionConfiguration()
  package var delegate: SessionDelegate?
  /// The identifier of a background session. Other sessions have none.
  package var identifier: String?

  package init() {}
}
