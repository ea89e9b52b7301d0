internal import FoundationEssentials
internal import GRDB
internal import HTTPCookies
internal import KeyDerivation
package import Ledger
internal import Records
package import TransferModel

/// Sessions with their cookies and credentials, named configurations, files and replies.
extension SQLiteLedger {
  package func sessions() async throws(LedgerError) -> [(session: TransferSession, lastIdentifier: Int)] {
    let reader = readers.reader(of: .session)
    return try await readers.read { database in
      try reader.all(database, .sessions) { row throws(UnreadableRow) in
        (try TransferSession(row), Int(try row.integer(.lastIdentifier)))
      }
    }
  }

  package func session(_ id: SessionID) async throws(LedgerError) -> TransferSession? {
    let reader = readers.reader(of: .session)
    return try await readers.read { database in
      try reader.one(database, .session, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try TransferSession(row)
      }
    }
  }

  package func sessionsWithStorage() async throws(LedgerError) -> [SessionID] {
    try await readers.read { database in
      let rows = try Data.fetchAll(database.prepared(.sessionsWithStorage))
      return rows.compactMap { SessionID(bytes: Array($0)) }
    }
  }

  package func storage(of session: SessionID) async throws(LedgerError) -> SessionStorageRows {
    let (cookies, credentials) = (readers.reader(of: .cookie), readers.reader(of: .credential))
    let id = Data(session.bytes)
    var found = try await readers.read { database in
      SessionStorageRows(
        cookies: try cookies.all(database, .cookies, [id]) { row throws(UnreadableRow) in try Cookie(row) },
        credentials: try credentials.all(database, .credentials, [id]) {
          row throws(UnreadableRow) in try StoredCredential(row)
        })
    }
    found.credentials.sort { left, right in
      Self.precedes(StoredCredential.key(left.space), StoredCredential.key(right.space))
    }
    return found
  }

  package func file(_ id: FileID) async throws(LedgerError) -> StoredFile? {
    let reader = readers.reader(of: .file)
    return try await readers.read { database in
      try reader.one(database, .file, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try StoredFile(row)
      }
    }
  }

  package func configuration(_ name: ConfigurationName) async throws(LedgerError) -> NamedConfiguration? {
    let reader = readers.reader(of: .configuration)
    return try await readers.read { [box = readers.box] database in
      try reader.one(
        database, .configuration, [name.tenant.name, Data(box.names.name(name))]
      ) { row throws(UnreadableRow) in try NamedConfiguration(row) }
    }
  }

  package func configurations(
    of tenant: Tenant, after: ConfigurationCursor?, order: ListOrder?, limit: Int
  ) async throws(LedgerError) -> [NamedConfiguration] {
    let reader = readers.reader(of: .configuration)
    // Keyed hashes have no order. This opens all names of the tenant, and the documents of one page.
    return try await readers.read { [box = readers.box] database in
      let names = try reader.all(database, .configurationNames, [tenant.name]) { row throws(UnreadableRow) in
        ConfigurationCursor(name: try row.text(.configurationName), createdAt: try row.time(.created))
      }
      let rest = names.filter { name in after.map { $0.precedes(name, in: order) } ?? true }
        .sorted { $0.precedes($1, in: order) }
      var found: [NamedConfiguration] = []
      for place in rest where found.count < limit {
        let name = ConfigurationName(tenant: tenant, text: place.name)
        found += try reader.all(database, .configuration, [tenant.name, Data(box.names.name(name))]) {
          row throws(UnreadableRow) in try NamedConfiguration(row)
        }
      }
      return found
    }
  }

  private static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  package func files(
    of tenant: Tenant, after: FileID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [StoredFile] {
    let reader = readers.reader(of: .file)
    return try await readers.read { database in
      try reader.all(
        database, order == .oldest ? .filesOfTenant : .newestFiles,
        [tenant.name, Data(after?.bytes ?? order.start)], limit: limit
      ) { row throws(UnreadableRow) in try StoredFile(row) }
    }
  }

  package func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(LedgerError) -> IdempotencyLookup? {
    guard let row = try await storedReply(key) else { return nil }
    var reply = row.reply
    reply.digest = digest
    return IdempotencyLookup(
      reply, isMatching: readers.box.requests.digests(of: digest).contains(row.fingerprint))
  }

  func storedReply(_ key: IdempotencyKey) async throws(LedgerError) -> ReplyRow? {
    let reader = readers.reader(of: .idempotency)
    return try await readers.read { [box = readers.box] database in
      try reader.one(
        database, .reply, [key.tenant.name, Data(box.names.name(key))]
      ) { row throws(UnreadableRow) in try ReplyRow(row) }
    }
  }
}
