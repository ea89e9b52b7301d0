internal import FoundationEssentials
internal import GRDB
package import HTTPCookies
package import TransferModel

extension SQLiteStore {
  package func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try await readDisk { [box] database in
      try Row.fetchAll(database, sql: "SELECT * FROM session ORDER BY id").map { row in
        (try TransferSession(row: row, openedBy: box), row["last_identifier"])
      }
    }
  }

  package func task(_ id: TaskID) async throws(StoreError) -> TransferTask? {
    try await find { [box] database in
      try Row.fetchOne(database, sql: Self.taskColumns + " WHERE id = ?", arguments: [Data(id.bytes)])
        .map { try TransferTask(row: $0, openedBy: box) }
    }
  }

  static let taskColumns = """
    SELECT id, session, identifier, kind, state, suspend_count, created, specification, request_body, outcome
    FROM task
    """

  package func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] {
    try await read(of: query.session) { [box] database in
      var sql = Self.taskColumns + " WHERE session = ?"
      var arguments: StatementArguments = [Data(query.session.bytes)]
      if let after = query.after {
        sql += " AND id > ?"
        arguments += [Data(after.bytes)]
      }
      if let kind = query.kind {
        sql += " AND kind = ?"
        arguments += [kind.rawValue]
      }
      if let state = query.state {
        sql += " AND state = ?"
        arguments += [state.rawValue]
      }
      arguments += [query.limit]
      return try Row.fetchAll(database, sql: sql + " ORDER BY id LIMIT ?", arguments: arguments)
        .map { try TransferTask(row: $0, openedBy: box) }
    }
  }

  package func unfinishedTasks(after id: TaskID?, limit: Int) async throws(StoreError) -> [TransferTask] {
    try await readDisk { [box] database in
      try Row.fetchAll(
        database, sql: Self.taskColumns + " WHERE state <> 'completed' AND id > ? ORDER BY id LIMIT ?",
        arguments: [Data(id?.bytes ?? []), limit]
      ).map { try TransferTask(row: $0, openedBy: box) }
    }
  }

  package func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try await find { database in
      try Data.fetchOne(
        database, sql: "SELECT small_body FROM task WHERE id = ?", arguments: [Data(id.bytes)]
      )
      .map { Array($0) }
    }
  }

  package func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try await find { database in
      try String.fetchOne(database, sql: "SELECT metrics FROM task WHERE id = ?", arguments: [Data(id.bytes)])
        .map { Array($0.utf8) }
    }
  }

  package func decision(_ id: DecisionID) async throws(StoreError) -> Decision? {
    try await find { database in
      try Row.fetchOne(database, sql: "SELECT * FROM decision WHERE id = ?", arguments: [Data(id.bytes)])
        .map { Decision(row: $0) }
    }
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    try await read(of: session) { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT * FROM decision WHERE session = ? AND id > ? AND (? IS NULL OR state = ?) ORDER BY id LIMIT ?
          """,
        arguments: [
          Data(session.bytes), Data(after?.bytes ?? []), state?.rawValue, state?.rawValue, limit,
        ]
      ).map { Decision(row: $0) }
    }
  }

  package func credentials() async throws(StoreError) -> [StoredCredential] {
    try await readDisk { [box] database in
      try String.fetchAll(database, sql: "SELECT sealed FROM credential ORDER BY session, space")
        .compactMap { sealed in box.open(sealed).flatMap { StoredCredential(document: $0) } }
    }
  }

  package func file(_ id: FileID) async throws(StoreError) -> StoredFile? {
    try await readDisk { database in
      try Row.fetchOne(database, sql: "SELECT * FROM file WHERE id = ?", arguments: [Data(id.bytes)])
        .map { StoredFile(row: $0) }
    }
  }

  package func cookies() async throws(StoreError) -> [(session: SessionID, cookie: Cookie)] {
    try await readDisk { [box] database in
      try Row.fetchAll(database, sql: "SELECT session, sealed FROM cookie ORDER BY rowid").compactMap { row in
        guard let session = SessionID(bytes: row.bytes("session")), let document = box.open(row["sealed"]),
          let cookie = Cookie(stored: document, of: session)
        else { return nil }
        return (session, cookie)
      }
    }
  }

  package func configuration(_ name: String) async throws(StoreError) -> NamedConfiguration? {
    try await readDisk { [box] database in
      try Row.fetchOne(database, sql: "SELECT * FROM configuration WHERE name = ?", arguments: [name])
        .map { try NamedConfiguration(row: $0, openedBy: box) }
    }
  }

  package func configurations(
    after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    try await readDisk { [box] database in
      try Row.fetchAll(
        database, sql: "SELECT * FROM configuration WHERE name > ? ORDER BY name LIMIT ?",
        arguments: [after ?? "", limit]
      ).map { try NamedConfiguration(row: $0, openedBy: box) }
    }
  }

  package func files(after: FileID?, limit: Int) async throws(StoreError) -> [StoredFile] {
    try await readDisk { database in
      try Row.fetchAll(
        database, sql: "SELECT * FROM file WHERE id > ? ORDER BY id LIMIT ?",
        arguments: [Data(after?.bytes ?? []), limit]
      ).map { StoredFile(row: $0) }
    }
  }

  package func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try await read(of: session) { database in
      try Data.fetchAll(
        database, sql: "SELECT id FROM task WHERE session = ? AND has_body_file",
        arguments: [Data(session.bytes)]
      ).compactMap { TaskID(bytes: Array($0)) }
    }
  }

  package func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool {
    try await find { database in
      try Bool.fetchOne(
        database, sql: "SELECT has_body_file FROM task WHERE id = ?", arguments: [Data(id.bytes)])
    } ?? false
  }

  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try await find { database in
      try Bool.fetchOne(
        database, sql: "SELECT 1 FROM delivery WHERE task = ? AND state = 'pending'",
        arguments: [Data(task.bytes)])
    } ?? false
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    let conditions = [
      ("next_attempt <= ? ORDER BY next_attempt", time),
      // That a clock was put right by a little is nothing to go by.
      ("last_attempt > ? ORDER BY last_attempt", time.adding(seconds: 60)),
    ]
    let find: @Sendable (Database) throws -> [WebhookDelivery] = { [box] database in
      let due = try conditions.flatMap { condition, time in
        try Row.fetchAll(
          database, sql: "SELECT * FROM delivery WHERE state = 'pending' AND \(condition) LIMIT ?",
          arguments: [time.microseconds, limit])
      }
      return due.prefix(limit).map { WebhookDelivery(row: $0, openedBy: box) }
    }
    let durable = try await readDisk(find)
    guard hasEphemeralSessions else { return durable }
    let all = durable + (try await readMemory(find))
    return Array(all.sorted { $0.nextAttemptAt < $1.nextAttemptAt }.prefix(limit))
  }

  package func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    try await readDisk { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT delivery.id, delivery.session, delivery.type FROM delivery JOIN session ON session.id = delivery.session
          WHERE delivery.state = 'pending' AND json_extract(session.document, '$.type') = 'background'
          """
      ).compactMap { row in
        guard let id = DeliveryID(bytes: row.bytes("id")),
          let session = SessionID(bytes: row.bytes("session")), let type = EventType(rawValue: row["type"])
        else { return nil }
        return PendingDelivery(id: id, sessionID: session, type: type)
      }
    }
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    let find: @Sendable (Database) throws -> Int64? = { database in
      try Int64.fetchOne(database, sql: "SELECT min(next_attempt) FROM delivery WHERE state = 'pending'")
    }
    let times = [try await readDisk(find), !hasEphemeralSessions ? nil : try await readMemory(find)]
    return times.compactMap { $0 }.min().map { Timestamp(microseconds: $0) }
  }

  package func idempotentReply(_ key: String) async throws(StoreError) -> IdempotentReply? {
    try await find { database in
      try Row.fetchOne(database, sql: "SELECT * FROM idempotency WHERE key = ?", arguments: [key]).map {
        row in
        IdempotentReply(
          key: key, fingerprint: row.bytes("fingerprint"), status: row["status"],
          contentType: row["content_type"], location: row["location"], body: row.bytes("body"),
          createdAt: Timestamp(microseconds: row["created"]))
      }
    }
  }

  package func fingerprints(of digest: [UInt8]) -> [[UInt8]] { box.requests.digests(of: digest) }
}
