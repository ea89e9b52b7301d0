internal import FoundationEssentials
internal import GRDB
package import HTTPCookies
package import TransferModel

extension SQLiteStore {
  package func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    let reader = reader(of: .session)
    return try await readDisk { database in
      try reader.all(database, "SELECT * FROM session ORDER BY id") { row throws(UnreadableRow) in
        (try TransferSession(row), Int(try row.integer("last_identifier")))
      }
    }
  }

  package func task(_ id: TaskID) async throws(StoreError) -> TransferTask? {
    let reader = reader(of: .task)
    return try await find { database in
      try reader.one(database, Self.taskColumns + " WHERE id = ?", [Data(id.bytes)]) {
        row throws(UnreadableRow) in try TransferTask(row)
      }
    }
  }

  static let taskColumns = """
    SELECT id, session, identifier, kind, state, suspend_count, created, specification, request_body, outcome,
      is_pruned FROM task
    """

  package func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] {
    let reader = reader(of: .task)
    return try await read(of: query.session) { database in
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
      return try reader.all(database, sql + " ORDER BY id", arguments, limit: query.limit) {
        row throws(UnreadableRow) in try TransferTask(row)
      }
    }
  }

  package func unfinishedTasks(after id: TaskID?, limit: Int) async throws(StoreError) -> [TransferTask] {
    let reader = reader(of: .task)
    return try await readDisk { database in
      try reader.all(
        database, Self.taskColumns + " WHERE state <> 'completed' AND id > ? ORDER BY id",
        [Data(id?.bytes ?? [])], limit: limit
      ) { row throws(UnreadableRow) in try TransferTask(row) }
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
    let reader = reader(of: .task)
    let metrics: [UInt8]?? = try await find { database in
      try reader.one(database, "SELECT id, metrics FROM task WHERE id = ?", [Data(id.bytes)]) {
        row throws(UnreadableRow) in try row.contentIfAny(.metrics)
      }
    }
    return metrics ?? nil
  }

  package func decision(_ id: DecisionID) async throws(StoreError) -> Decision? {
    let reader = reader(of: .decision)
    return try await find { database in
      try reader.one(database, "SELECT * FROM decision WHERE id = ?", [Data(id.bytes)]) {
        row throws(UnreadableRow) in try Decision(row)
      }
    }
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    let reader = reader(of: .decision)
    return try await read(of: session) { database in
      try reader.all(
        database,
        "SELECT * FROM decision WHERE session = ? AND id > ? AND (? IS NULL OR state = ?) ORDER BY id",
        [Data(session.bytes), Data(after?.bytes ?? []), state?.rawValue, state?.rawValue], limit: limit
      ) { row throws(UnreadableRow) in try Decision(row) }
    }
  }

  package func credentials() async throws(StoreError) -> [StoredCredential] {
    let reader = reader(of: .credential)
    return try await readDisk { database in
      try reader.all(database, "SELECT session, space, sealed FROM credential ORDER BY session, space") {
        row throws(UnreadableRow) in try StoredCredential(row)
      }
    }
  }

  package func file(_ id: FileID) async throws(StoreError) -> StoredFile? {
    let reader = reader(of: .file)
    return try await readDisk { database in
      try reader.one(database, "SELECT * FROM file WHERE id = ?", [Data(id.bytes)]) {
        row throws(UnreadableRow) in try StoredFile(row)
      }
    }
  }

  package func cookies() async throws(StoreError) -> [(session: SessionID, cookie: Cookie)] {
    let reader = reader(of: .cookie)
    return try await readDisk { database in
      try reader.all(database, "SELECT session, key, sealed FROM cookie ORDER BY rowid") {
        row throws(UnreadableRow) in (try row.id("session"), try Cookie(row))
      }
    }
  }

  package func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    let reader = reader(of: .configuration)
    return try await readDisk { database in
      try reader.one(
        database, "SELECT * FROM configuration WHERE tenant = ? AND name = ?", [name.tenant.name, name.text]
      ) { row throws(UnreadableRow) in try NamedConfiguration(row) }
    }
  }

  package func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    let reader = reader(of: .configuration)
    return try await readDisk { database in
      try reader.all(
        database, "SELECT * FROM configuration WHERE tenant = ? AND name > ? ORDER BY name",
        [tenant.name, after ?? ""], limit: limit
      ) { row throws(UnreadableRow) in try NamedConfiguration(row) }
    }
  }

  package func files(
    of tenant: Tenant, after: FileID?, limit: Int
  ) async throws(StoreError) -> [StoredFile] {
    let reader = reader(of: .file)
    return try await readDisk { database in
      try reader.all(
        database, "SELECT * FROM file WHERE tenant = ? AND id > ? ORDER BY id",
        [tenant.name, Data(after?.bytes ?? [])], limit: limit
      ) { row throws(UnreadableRow) in try StoredFile(row) }
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

  package func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool {
    try await read(of: session) { database in
      try Bool.fetchOne(
        database,
        sql: """
          SELECT EXISTS (SELECT 1 FROM task WHERE session = ?1) OR EXISTS (SELECT 1 FROM journal WHERE session = ?1)
          """, arguments: [Data(session.bytes)]) ?? false
    }
  }

  package func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool {
    try await find { database in
      try Bool.fetchOne(
        database, sql: "SELECT has_body_file FROM task WHERE id = ?", arguments: [Data(id.bytes)])
    } ?? false
  }

  package func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID> {
    try await readDisk { database in
      let sql = "SELECT has_body_file FROM task WHERE id = ?"
      let statement = try database.cachedStatement(sql: sql)
      let found = try ids.filter { try Bool.fetchOne(statement, arguments: [Data($0.bytes)]) ?? false }
      return Set(found)
    }
  }

  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try await find { database in
      try Bool.fetchOne(
        database, sql: "SELECT 1 FROM delivery WHERE task = ? AND state = 'pending'",
        arguments: [Data(task.bytes)])
    } ?? false
  }

  package func idempotentReply(_ key: IdempotencyKey) async throws(StoreError) -> IdempotentReply? {
    let reader = reader(of: .idempotency)
    return try await find { database in
      try reader.one(
        database, "SELECT * FROM idempotency WHERE tenant = ? AND key = ?", [key.tenant.name, key.text]
      ) { row throws(UnreadableRow) in try IdempotentReply(row) }
    }
  }

  package func fingerprints(of digest: [UInt8]) -> [[UInt8]] { box.requests.digests(of: digest) }
}
