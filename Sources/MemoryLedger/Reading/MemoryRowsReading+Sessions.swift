internal import HTTPCookies
package import Ledger
package import TransferModel

/// Sessions with their cookies and credentials, named configurations, files and replies.
extension MemoryRowsReading {
  package func sessions() async throws(LedgerError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try read { $0.sessions() }.map { ($0.session, $0.lastIdentifier) }
  }

  package func session(_ id: SessionID) async throws(LedgerError) -> TransferSession? {
    try read { reader throws(LedgerError) in try reader.session(id) }
  }

  package func sessionsWithStorage() async throws(LedgerError) -> [SessionID] {
    try read { $0.sessionsWithStorage() }
  }

  package func storage(of session: SessionID) async throws(LedgerError) -> SessionStorageRows {
    try read { $0.storage(of: session) }
  }

  package func configuration(_ name: ConfigurationName) async throws(LedgerError) -> NamedConfiguration? {
    try read { reader throws(LedgerError) in try reader.configuration(name) }
  }

  package func configurations(
    of tenant: Tenant, after: ConfigurationCursor?, order: ListOrder?, limit: Int
  ) async throws(LedgerError) -> [NamedConfiguration] {
    try read { $0.configurations(of: tenant, after: after, order, limit: limit) }
  }

  package func file(_ id: FileID) async throws(LedgerError) -> StoredFile? {
    try read { reader throws(LedgerError) in try reader.file(id) }
  }

  package func files(
    of tenant: Tenant, after: FileID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [StoredFile] {
    try read { $0.files(of: tenant, after: after, order, limit: limit) }
  }

  package func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(LedgerError) -> IdempotencyLookup? {
    let reply = try read { reader throws(LedgerError) in try reader.reply(key) }
    return reply.map { IdempotencyLookup($0, isMatching: $0.digest == digest) }
  }
}
