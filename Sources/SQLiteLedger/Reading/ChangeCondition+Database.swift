internal import FoundationEssentials
internal import GRDB
internal import Ledger
internal import Records
internal import TransferModel

extension ChangeCondition {
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
    }
  }
}
