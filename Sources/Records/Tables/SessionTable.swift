package import TransferModel

extension TransferSession {
  package var document: [UInt8] {
    precondition(!isOutline, "an outline must not be stored")
    return Document.write { coder throws(RecordFault) in
      _ = try Self.members(&coder, self, id: id, createdAt: createdAt, state: state)
    }
  }

  /// Reads a session from its document. `id`, `createdAt` and `state` come from the row's own columns.
  package init(
    document: [UInt8], id: SessionID, createdAt: Timestamp, state: SessionState
  ) throws(RecordFault) {
    self = try Document.read(document) { coder throws(RecordFault) in
      try Self.members(&coder, nil, id: id, createdAt: createdAt, state: state)
    }
  }

  private static func members(
    _ coder: inout RecordCoder, _ value: Self?, id: SessionID, createdAt: Timestamp, state: SessionState
  ) throws(RecordFault) -> Self {
    var session = TransferSession(
      id: id, type: try coder.required("type", value?.type), createdAt: createdAt,
      description: try coder.optional("description", value?.description),
      configuration: try coder.required("configuration", value?.configuration),
      delegate: try coder.optional("delegate", value?.delegate),
      identifier: try coder.optional("identifier", value?.identifier),
      tenant: Tenant(name: try coder.member("tenant", value?.tenant.name, else: Tenant.default.name)))
    session.state = state
    session.owesFinishedEvents = try coder.member(
      "owesFinishedEvents", value?.owesFinishedEvents, else: false)
    return session
  }
}
