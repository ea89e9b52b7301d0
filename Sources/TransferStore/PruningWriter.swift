internal import GRDBSQLite
internal import TransferModel

/// Takes rows away. On the store's thread, inside its transaction.
struct PruningWriter {
  private let task, body, journal, markTenants, mark, delivery, decision, reply: WriteStatement

  init(_ connection: OpaquePointer) throws {
    func prepare(_ sql: String) throws -> WriteStatement { try WriteStatement(connection, sql) }
    task = try prepare("DELETE FROM task WHERE id = ? AND state = 'completed'")
    // The document is neither read nor written, so nothing can come between.
    body = try prepare(
      """
      UPDATE task SET small_body = NULL, has_body_file = 0, kept_until = NULL, kept_bytes = NULL, is_pruned = 1
      WHERE id = ? AND state = 'completed'
      """)
    journal = try prepare("DELETE FROM journal WHERE first <= ?")
    // By the rows that go: the index of the tenants would be read from end to end.
    markTenants = try prepare(
      """
      INSERT INTO journal_pruning_by_tenant (tenant, through)
      SELECT tenant, max(last) FROM journal NOT INDEXED WHERE first <= ? AND tenant IS NOT NULL GROUP BY tenant
      ON CONFLICT (tenant) DO UPDATE SET through = max(through, excluded.through)
      """)
    mark = try prepare(
      """
      INSERT INTO journal_pruning (only, through, time) VALUES (1, ?, ?)
      ON CONFLICT (only) DO UPDATE SET through = max(through, excluded.through), time = max(time, excluded.time)
      """)
    delivery = try prepare("DELETE FROM delivery WHERE id = ? AND state <> 'pending'")
    decision = try prepare("DELETE FROM decision WHERE id = ? AND state <> 'pending'")
    reply = try prepare("DELETE FROM idempotency WHERE tenant = ? AND key = ? AND created = ?")
  }

  func finalize() {
    for statement in [task, body, journal, markTenants, mark, delivery, decision, reply] {
      statement.finalize()
    }
  }

  func write(_ pruning: Pruning) throws {
    for id in pruning.tasks { try task.run(.id(id)) }
    for id in pruning.bodies { try body.run(.id(id)) }
    if let events = pruning.events {
      try markTenants.run(.integer(events.through))
      try journal.run(.integer(events.through))
      try mark.run(.integer(events.through), .integer(events.time.microseconds))
    }
    for id in pruning.records.deliveries { try delivery.run(.id(id)) }
    for id in pruning.records.decisions { try decision.run(.id(id)) }
    for old in pruning.records.replies {
      try reply.run(
        .string(old.key.tenant.name), .string(old.key.text), .integer(old.createdAt.microseconds))
    }
  }
}
