internal import Ledger
internal import Records
internal import TransferModel

/// A writer that deletes expired rows, on the writer thread and inside its transaction.
struct PruningWriter {
  let statements: WriteStatements
  let names: BlindIndex

  func write(_ pruning: Pruning) throws {
    for id in pruning.tasks { try statements.tasks.prune.run(.id(id)) }
    for id in pruning.bodies { try statements.tasks.forgetBody.run(.id(id)) }
    if let events = pruning.events {
      let journal = statements.journal
      try journal.markTenants.run(.integer(events.through))
      try journal.prune.run(.integer(events.through))
      try journal.mark.run(.integer(1), .integer(events.through), .integer(events.time.microseconds))
    }
    for id in pruning.records.deliveries { try statements.deliveries.prune.run(.id(id)) }
    for id in pruning.records.decisions { try statements.decisions.prune.run(.id(id)) }
    for group in pruning.records.groups {
      try statements.tasks.pruneGroup.run(
        .string(group.tenant.name), .blob(names.name(group: group.name, of: group.tenant)))
    }
    for old in pruning.records.replies {
      try statements.replies.prune.run(
        .string(old.key.tenant.name), .blob(names.name(old.key)), .integer(old.createdAt.microseconds))
    }
  }
}
