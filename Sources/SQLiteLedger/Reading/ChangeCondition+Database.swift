internal import FoundationEssentials
internal import GRDB
internal import Ledger
internal import Records
internal import TransferModel

extension ChangeCondition {
  private static func arguments(_ key: TaskGroupKey, _ box: SecretBox) -> StatementArguments {
    [key.tenant.name, Data(box.names.name(group: key.name, of: key.tenant))]
  }

  /// Returns whether the condition is met. Runs inside the transaction that writes the change.
  func holds(in database: Database, _ box: SecretBox) throws -> Bool {
    switch self {
    case .keyAbsent(let key, let oldest):
      return try Bool.fetchOne(
        database.prepared(.hasReply),
        arguments: [key.tenant.name, Data(box.names.name(key)), oldest.microseconds]) != true
    case .revision(let name, let updatedAt):
      let known = try Int64.fetchOne(
        database.prepared(.revision), arguments: [name.tenant.name, Data(box.names.name(name))])
      return known == updatedAt?.microseconds
    case .endpointRevision(let id, let revision):
      let row = try Row.fetchOne(database.prepared(.endpoint), arguments: [Data(id.bytes)])
      let known = row.flatMap { try? WebhookEndpoint(StoredRow(row: $0, kind: .endpoint, box: box)) }
      return known?.revision == revision
    case .deliveryState(let id, let state, let attempts):
      return try Bool.fetchOne(
        database.prepared(.hasDelivery), arguments: [Data(id.bytes), state.rawValue, attempts]) == true
    case .unchanged(let task):
      let row = try Row.fetchOne(database.prepared(.task), arguments: [Data(task.id.bytes)])
      let known = row.flatMap { try? TransferTask(StoredRow(row: $0, kind: .task, box: box)) }
      return known?.isSpecified(like: task) == true
    case .groupOpen(let key):
      let row = try Row.fetchOne(database.prepared(.group), arguments: Self.arguments(key, box))
      return row.map { $0[.closed] as Int64? == nil } ?? true
    case .groupEnded(let key, let counts):
      guard let row = try Row.fetchOne(database.prepared(.group), arguments: Self.arguments(key, box)),
        row[.closed] as Int64? != nil, row[.completed] as Int64? == nil, counts.unfinished == 0
      else { return false }
      return try GroupCounts(database, key: Data(box.names.name(group: key.name, of: key.tenant))) == counts
    }
  }
}
