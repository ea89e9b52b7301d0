extension TransferSession {
  /// The session as lists show it.
  package var listed: TransferSession {
    guard var delegate, let webhook = delegate.webhook else { return self }
    delegate.webhook = webhook.listed
    var session = TransferSession(
      id: id, type: type, createdAt: createdAt, description: description, configuration: configuration,
      delegate: delegate, identifier: identifier, tenant: tenant)
    session.state = state
    return session
  }
}
