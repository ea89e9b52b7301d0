internal import TransferModel

/// A writer that deletes a session's rows, on the writer thread and inside its transaction.
struct SessionDeletionWriter {
  let statements: WriteStatements

  func deleteSlice(_ session: SessionID) throws { try run(statements.thinning, session) }
  func delete(_ session: SessionID) throws { try run(statements.deletion, session) }

  private func run(_ removals: [WriteStatement], _ session: SessionID) throws {
    try statements.journal.reserveWritten.run()
    for removal in removals { try removal.run(.id(session)) }
  }
}
