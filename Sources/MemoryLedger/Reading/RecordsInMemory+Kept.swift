internal import HTTPCookies
package import Ledger
package import TransferModel

/// What is kept beside the tasks.
extension RecordsInMemory {
  package func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try read { $0.sessions() }.map { ($0.session, $0.lastIdentifier) }
  }

  package func session(_ id: SessionID) async throws(StoreError) -> TransferSession? {
    try read { reader throws(StoreError) in try reader.session(id) }
  }

  package func sessionsWithStorage() async throws(StoreError) -> [SessionID] {
    try read { $0.sessionsWithStorage() }
  }

  package func storage(of session: SessionID) async throws(StoreError) -> StoredStorage {
    try read { $0.storage(of: session) }
  }

  package func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    try read { reader throws(StoreError) in try reader.configuration(name) }
  }

  package func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    try read { $0.configurations(of: tenant, after: after, limit: limit) }
  }

  package func file(_ id: FileID) async throws(StoreError) -> StoredFile? {
    try read { reader throws(StoreError) in try reader.file(id) }
  }

  package func files(
    of tenant: Tenant, after: FileID?, limit: Int
  ) async throws(StoreError) -> [StoredFile] {
    try read { $0.files(of: tenant, after: after, limit: limit) }
  }

  package func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(StoreError) -> KeptReply? {
    let reply = try read { reader throws(StoreError) in try reader.reply(key) }
    return reply.map { KeptReply($0, isMatching: $0.digest == digest) }
  }
}
