internal import TransferModel

/// Takes a session's rows away. On the store's thread, inside its transaction.
struct SessionDeletionWriter {
  let statements: WriteStatements

  func thin(_ session: SessionID) throws { try run(statements.thinning, session) }
  func delete(_ session: SessionID) throws { try run(statements.deletion, session) }

  private func run(_ removals: [WriteStatement], _ session: SessionID) throws {
    try statements.journal.reserveWritten.run()
    for removal in removals { try removal.run(.id(session)) }
  }
}
