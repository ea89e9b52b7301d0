internal import FoundationEssentials
internal import GRDB
internal import HTTPCookies
internal import TransferModel

/// What is kept beside the tasks: sessions and what they have, configurations, files, replies.
struct SQLiteKept: KeptRecords {
  let databases: StoreDatabases

  func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    let reader = databases.reader(of: .session)
    return try await databases.readDisk { database in
      try reader.all(database, .sessions) { row throws(UnreadableRow) in
        (try TransferSession(row), Int(try row.integer(.lastIdentifier)))
      }
    }
  }

  func credentials() async throws(StoreError) -> [StoredCredential] {
    let reader = databases.reader(of: .credential)
    return try await databases.readDisk { database in
      try reader.all(database, .credentials) {
        row throws(UnreadableRow) in try StoredCredential(row)
      }
    }
  }

  func file(_ id: FileID) async throws(StoreError) -> StoredFile? {
    let reader = databases.reader(of: .file)
    return try await databases.readDisk { database in
      try reader.one(database, .file, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try StoredFile(row)
      }
    }
  }

  func cookies() async throws(StoreError) -> [(session: SessionID, cookie: Cookie)] {
    let reader = databases.reader(of: .cookie)
    return try await databases.readDisk { database in
      try reader.all(database, .cookies) {
        row throws(UnreadableRow) in (try row.id(.session), try Cookie(row))
      }
    }
  }

  func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    let reader = databases.reader(of: .configuration)
    return try await databases.readDisk { database in
      try reader.one(
        database, .configuration, [name.tenant.name, name.text]
      ) { row throws(UnreadableRow) in try NamedConfiguration(row) }
    }
  }

  func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    let reader = databases.reader(of: .configuration)
    return try await databases.readDisk { database in
      try reader.all(
        database, .configurationsOfTenant,
        [tenant.name, after ?? ""], limit: limit
      ) { row throws(UnreadableRow) in try NamedConfiguration(row) }
    }
  }

  func files(
    of tenant: Tenant, after: FileID?, limit: Int
  ) async throws(StoreError) -> [StoredFile] {
    let reader = databases.reader(of: .file)
    return try await databases.readDisk { database in
      try reader.all(
        database, .filesOfTenant,
        [tenant.name, Data(after?.bytes ?? [])], limit: limit
      ) { row throws(UnreadableRow) in try StoredFile(row) }
    }
  }

  func idempotentReply(_ key: IdempotencyKey) async throws(StoreError) -> IdempotentReply? {
    let reader = databases.reader(of: .idempotency)
    return try await databases.find { database in
      try reader.one(
        database, .reply, [key.tenant.name, key.text]
      ) { row throws(UnreadableRow) in try IdempotentReply(row) }
    }
  }
}
