package import HTTPCookies
package import TransferModel

/// What is kept beside the tasks: sessions and what they have, configurations, files, replies.
package protocol KeptRecords: Sendable {
  func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)]
  func session(_ id: SessionID) async throws(StoreError) -> TransferSession?
  /// The permanent credentials of all sessions.
  func credentials() async throws(StoreError) -> [StoredCredential]
  /// The cookies of all sessions, oldest first.
  func cookies() async throws(StoreError) -> [(session: SessionID, cookie: Cookie)]
  func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration?
  /// A page of a tenant's named configurations, by name.
  func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration]
  func file(_ id: FileID) async throws(StoreError) -> StoredFile?
  /// A page of a tenant's stored files, oldest first.
  func files(of tenant: Tenant, after: FileID?, limit: Int) async throws(StoreError) -> [StoredFile]
  func idempotentReply(_ key: IdempotencyKey) async throws(StoreError) -> IdempotentReply?
}
