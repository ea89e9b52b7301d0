internal import TransferModel

/// Takes a session's rows away. On the store's thread, inside its transaction.
struct SessionDeletionWriter {
  private let reserveJournal: WriteStatement
  /// Some rows of the tables that grow with a session's tasks; in an order in which no row refers to one that is gone.
  private let thinning: [WriteStatement]
  private let deletion: [WriteStatement]

  init(_ connection: OpaquePointer) throws {
    func prepare(_ sql: String) throws -> WriteStatement { try WriteStatement(connection, sql) }
    // Numbers that were given out are not given out again, though nothing tells of them any more.
    reserveJournal = try prepare(
      """
      INSERT OR REPLACE INTO sequence_reservation (only, last)
      SELECT 1, max(
        coalesce((SELECT last FROM sequence_reservation), 0),
        coalesce((SELECT last FROM journal ORDER BY first DESC LIMIT 1), 0))
      """)
    func some(_ key: String, of table: String, _ condition: String = "") throws -> WriteStatement {
      try prepare(
        """
        DELETE FROM \(table) WHERE \(key) IN
          (SELECT \(key) FROM \(table) WHERE session = ?\(condition) LIMIT \(StoreChange.thinningSlice))
        """)
    }
    thinning = [
      try some("first", of: "journal"), try some("id", of: "decision"),
      try some("id", of: "delivery", " AND state <> 'pending'"), try some("number", of: "command"),
      try some("task", of: "work"), try some("id", of: "task"),
    ]
    deletion = try [
      "journal WHERE session = ?", "decision WHERE session = ?", "credential WHERE session = ?",
      "cookie WHERE session = ?", "delivery WHERE session = ? AND state <> 'pending'",
      "command WHERE session = ?", "work WHERE session = ?", "task WHERE session = ?", "session WHERE id = ?",
    ].map { try prepare("DELETE FROM " + $0) }
  }

  func finalize() { for statement in [reserveJournal] + thinning + deletion { statement.finalize() } }

  func thin(_ session: SessionID) throws {
    try reserveJournal.run()
    for statement in thinning { try statement.run(.id(session)) }
  }

  func delete(_ session: SessionID) throws {
    try reserveJournal.run()
    for statement in deletion { try statement.run(.id(session)) }
  }
}
