package import HTTPCookies
package import Records
package import TransferModel

/// All records but those of tasks: sessions with their cookies and credentials, named configurations, files and stored replies.
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
  /// The reply that is kept under a key, if it answers the request with that digest. How digests are stored is up to each ledger.
  func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(StoreError) -> KeptReply?
}

extension KeptRecords {
  /// When the reply under a key was written, whatever the request was; nil if there is none.
  package func replyTime(of key: IdempotencyKey) async throws(StoreError) -> Timestamp? {
    try await idempotentReply(key, to: [])?.createdAt
  }
}

/// The result of looking up an Idempotency-Key.
package enum KeptReply: Sendable, Equatable {
  /// The reply to the same request.
  case matching(IdempotentReply)
  /// Another request used the key.
  case other(createdAt: Timestamp)

  package init(_ reply: IdempotentReply, isMatching: Bool) {
    self = isMatching ? .matching(reply) : .other(createdAt: reply.createdAt)
  }

  package var createdAt: Timestamp {
    switch self {
    case .matching(let reply): reply.createdAt
    case .other(let time): time
    }
  }
}

/// The contents of a session's HTTPCookieStorage and URLCredentialStorage.
package typealias StoredStorage = (cookies: [Cookie], credentials: [StoredCredential])
