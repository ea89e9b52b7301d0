package import HTTPCookies
package import TransferModel

/// What is kept beside the tasks: sessions and what they have, configurations, files, replies.
package protocol KeptRecords: Sendable {
  func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)]
  func session(_ id: SessionID) async throws(StoreError) -> TransferSession?
  /// The sessions that have cookies or credentials, in the order of their ids.
  func sessionsWithStorage() async throws(StoreError) -> [SessionID]
  /// A session's cookies, oldest first, and its stored credentials.
  func storage(of session: SessionID) async throws(StoreError) -> StoredStorage
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

/// The contents of a session's HTTPCookieStorage and URLCredentialStorage.
package typealias StoredStorage = (cookies: [Cookie], credentials: [StoredCredential])
