internal import FoundationEssentials
internal import GRDB
package import HTTPCookies
package import TransferModel

extension SQLiteStore {
  package func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    let reader = reader(of: .session)
    return try await readDisk { database in
      try reader.all(database, .sessions) { row throws(UnreadableRow) in
        (try TransferSession(row), Int(try row.integer(.lastIdentifier)))
      }
    }
  }

  package func task(_ id: TaskID) async throws(StoreError) -> TransferTask? {
    let reader = reader(of: .task)
    return try await find { database in
      try reader.one(database, .task, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try TransferTask(row)
      }
    }
  }

  package func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] {
    let reader = reader(of: .task)
    return try await read(of: query.session) { database in
      try reader.all(
        database, .tasksOfSession,
        [
          Data(query.session.bytes), Data(query.after?.bytes ?? []), query.kind?.rawValue,
          query.state?.rawValue,
        ], limit: query.limit
      ) { row throws(UnreadableRow) in try TransferTask(row) }
    }
  }

  package func unfinishedTasks(after id: TaskID?, limit: Int) async throws(StoreError) -> [TransferTask] {
    let reader = reader(of: .task)
    return try await readDisk { database in
      try reader.all(
        database, .unfinishedTasks, [Data(id?.bytes ?? [])], limit: limit
      ) { row throws(UnreadableRow) in try TransferTask(row) }
    }
  }

  package func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try await find { database in
      try Data.fetchOne(database.prepared(.smallBody), arguments: [Data(id.bytes)]).map { Array($0) }
    }
  }

  package func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    let reader = reader(of: .task)
    let metrics: [UInt8]?? = try await find { database in
      try reader.one(database, .metrics, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try row.contentIfAny(.metrics)
      }
    }
    return metrics ?? nil
  }

  package func decision(_ id: DecisionID) async throws(StoreError) -> Decision? {
    let reader = reader(of: .decision)
    return try await find { database in
      try reader.one(database, .decision, [Data(id.bytes)]) {
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
        database, .decisionsOfSession, [Data(session.bytes), Data(after?.bytes ?? []), state?.rawValue],
        limit: limit
      ) { row throws(UnreadableRow) in try Decision(row) }
    }
  }

  package func credentials() async throws(StoreError) -> [StoredCredential] {
    let reader = reader(of: .credential)
    return try await readDisk { database in
      try reader.all(database, .credentials) {
        row throws(UnreadableRow) in try StoredCredential(row)
      }
    }
  }

  package func file(_ id: FileID) async throws(StoreError) -> StoredFile? {
    let reader = reader(of: .file)
    return try await readDisk { database in
      try reader.one(database, .file, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try StoredFile(row)
      }
    }
  }

  package func cookies() async throws(StoreError) -> [(session: SessionID, cookie: Cookie)] {
    let reader = reader(of: .cookie)
    return try await readDisk { database in
      try reader.all(database, .cookies) {
        row throws(UnreadableRow) in (try row.id(.session), try Cookie(row))
      }
    }
  }

  package func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    let reader = reader(of: .configuration)
    return try await readDisk { database in
      try reader.one(
        database, .configuration, [name.tenant.name, name.text]
      ) { row throws(UnreadableRow) in try NamedConfiguration(row) }
    }
  }

  package func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    let reader = reader(of: .configuration)
    return try await readDisk { database in
      try reader.all(
        database, .configurationsOfTenant,
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
        database, .filesOfTenant,
        [tenant.name, Data(after?.bytes ?? [])], limit: limit
      ) { row throws(UnreadableRow) in try StoredFile(row) }
    }
  }

  package func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try await read(of: session) { database in
      try Data.fetchAll(database.prepared(.bodyFilesOfSession), arguments: [Data(session.bytes)])
        .compactMap { TaskID(bytes: Array($0)) }
    }
  }

  package func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool {
    try await read(of: session) { database in
      try Bool.fetchOne(database.prepared(.hasTasks), arguments: [Data(session.bytes)]) ?? false
    }
  }

  package func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool {
    try await find { database in
      try Bool.fetchOne(database.prepared(.hasBodyFile), arguments: [Data(id.bytes)])
    } ?? false
  }

  package func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID> {
    try await readDisk { database in
      let statement = try database.prepared(.hasBodyFile)
      let found = try ids.filter { try Bool.fetchOne(statement, arguments: [Data($0.bytes)]) ?? false }
      return Set(found)
    }
  }

  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try await find { database in
      try Bool.fetchOne(database.prepared(.hasPendingDelivery), arguments: [Data(task.bytes)])
    } ?? false
  }

  package func idempotentReply(_ key: IdempotencyKey) async throws(StoreError) -> IdempotentReply? {
    let reader = reader(of: .idempotency)
    return try await find { database in
      try reader.one(
        database, .reply, [key.tenant.name, key.text]
      ) { row throws(UnreadableRow) in try IdempotentReply(row) }
    }
  }

  package func fingerprints(of digest: [UInt8]) -> [[UInt8]] { box.requests.digests(of: digest) }
}
