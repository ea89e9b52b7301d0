internal import FoundationEssentials
internal import GRDB
internal import HTTPCookies
internal import Ledger
internal import Records
internal import TransferModel

/// A rotation of the keyed hashes of rows to another key, from their sealed documents. No other process may write to the database
/// meanwhile.
struct BlindIndexRotation {
  let database: Database
  let box: SecretBox

  /// Recomputes the hashes of all rows. A row that cannot be read stays unchanged.
  func rename() throws {
    for kind in [RecordKind.cookie, .credential, .idempotency, .configuration, .group] { try rename(kind) }
    try renameGroupsAndLabels()
    try renameDestinations()
  }

  /// Recomputes the hashes of the tasks' groups and labels.
  private func renameGroupsAndLabels() throws {
    let select = try database.makeStatement(sql: "SELECT * FROM task WHERE id = ?")
    let setGroup = try database.makeStatement(sql: "UPDATE task SET group_key = ? WHERE id = ?")
    let deleteLabels = try database.makeStatement(sql: "DELETE FROM task_label WHERE task = ?")
    let insertLabel = try database.makeStatement(sql: "INSERT INTO task_label (key, task) VALUES (?, ?)")
    let ids = try Data.fetchAll(
      database,
      sql: """
        SELECT id FROM task WHERE group_key IS NOT NULL UNION SELECT task FROM task_label
        """)
    for id in ids {
      guard let row = try Row.fetchOne(select, arguments: [id]),
        let task = try? TransferTask(StoredRow(row: row, kind: .task, box: box))
      else { continue }
      let tenant = Tenant(name: String(decoding: row.bytes(.tenant), as: UTF8.self))
      if let group = task.group {
        try setGroup.execute(arguments: [Data(box.names.name(group: group, of: tenant)), id])
      }
      guard !task.labels.isEmpty else { continue }
      try deleteLabels.execute(arguments: [id])
      for key in CreatedTask(task: task, tenant: tenant).labelKeys(box) {
        try insertLabel.execute(arguments: [Data(key), id])
      }
    }
  }

  /// Recomputes the destinations of pending messages to the webhooks of sessions and tasks.
  private func renameDestinations() throws {
    let update = try database.makeStatement(sql: "UPDATE delivery SET destination = ? WHERE id = ?")
    let rows = try Row.fetchAll(
      database,
      sql: "SELECT id, tenant, session, url FROM delivery WHERE state = 'pending' AND endpoint IS NULL")
    for row in rows {
      guard let url = try url(of: row) else { continue }
      let destination = box.names.destination(of: url, for: Tenant(name: row[.tenant]))
      try update.execute(arguments: [Data(destination.bytes), Data(row.bytes(.id))])
    }
  }

  /// Returns the URL of a message. The webhook of a session's delegate is in the session's row.
  private func url(of row: Row) throws -> String? {
    let stored = StoredRow(row: row, kind: .delivery, box: box)
    if let url = try? stored.text(.deliveryURL), !url.isEmpty { return url }
    guard
      let session = try Row.fetchOne(
        database, sql: "SELECT * FROM \(StoredTable.session) WHERE id = ?",
        arguments: [Data(row.bytes(.session))])
    else { return nil }
    return try? TransferSession(StoredRow(row: session, kind: .session, box: box)).delegate?.webhook?.url
  }

  private func rename(_ kind: RecordKind) throws {
    let table = StoredTable(kind)
    let (owner, key) = (table.key[0], table.key[1])
    let condition = "WHERE (\(owner.rawValue), \(key.rawValue)) = (?, ?)"
    let select = try database.makeStatement(sql: "SELECT * FROM \(table) \(condition)")
    let update = try database.makeStatement(sql: "UPDATE \(table) SET \(key.rawValue) = ? \(condition)")
    // All keys are read first: a running query could return a renamed row again.
    for place in try Row.fetchAll(database, sql: "SELECT \(owner.rawValue), \(key.rawValue) FROM \(table)") {
      let old = Array(place.databaseValues)
      guard let row = try Row.fetchOne(select, arguments: StatementArguments(old)),
        let text = try? Self.text(of: StoredRow(row: row, kind: kind, box: box))
      else { continue }
      let name =
        kind == .group
        ? box.names.name(group: text, of: Tenant(name: String(decoding: row.bytes(owner), as: UTF8.self)))
        : box.names.name(text, owner: row.bytes(owner), of: kind)
      try update.execute(arguments: StatementArguments([Data(name).databaseValue] + old))
    }
  }

  /// Returns the text whose hash identifies the row.
  private static func text(of row: StoredRow) throws(UnreadableRow) -> String {
    switch row.kind {
    case .cookie: try Cookie(row).key.stored
    case .credential: StoredCredential.key(try StoredCredential(row).space)
    case .idempotency: try row.text(.replyKey)
    case .group: try row.text(.groupName)
    default: try row.text(.configurationName)
    }
  }
}
