package import HTTPCookies
package import Records
package import TransferModel

/// All records except those of tasks: sessions with their cookies and credentials, named configurations, files and stored replies.
package protocol SessionRecords: Sendable {
  func sessions() async throws(LedgerError) -> [(session: TransferSession, lastIdentifier: Int)]
  func session(_ id: SessionID) async throws(LedgerError) -> TransferSession?
  /// Returns the sessions that have cookies or credentials, in the order of their ids.
  func sessionsWithStorage() async throws(LedgerError) -> [SessionID]
  /// Returns a session's cookies, oldest first, and its stored credentials.
  func storage(of session: SessionID) async throws(LedgerError) -> SessionStorageRows
  func configuration(_ name: ConfigurationName) async throws(LedgerError) -> NamedConfiguration?
  /// Returns a page of a tenant's named configurations.
  /// - Parameter order: the order of creation, or `nil` for the order of the names.
  func configurations(
    of tenant: Tenant, after: ConfigurationCursor?, order: ListOrder?, limit: Int
  ) async throws(LedgerError) -> [NamedConfiguration]
  func file(_ id: FileID) async throws(LedgerError) -> StoredFile?
  /// Returns a page of a tenant's stored files.
  func files(
    of tenant: Tenant, after: FileID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [StoredFile]
  /// Returns the reply that is stored under a key, and whether it answers the request with this digest. Each ledger stores digests in its
  /// own way.
  func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(LedgerError) -> IdempotencyLookup?
}

extension SessionRecords {
  /// Returns a page of a tenant's named configurations, by name.
  package func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(LedgerError) -> [NamedConfiguration] {
    try await configurations(
      of: tenant, after: after.map { ConfigurationCursor(name: $0) }, order: nil, limit: limit)
  }

  /// Returns a page of a tenant's stored files, oldest first.
  package func files(
    of tenant: Tenant, after: FileID?, limit: Int
  ) async throws(LedgerError) -> [StoredFile] {
    try await files(of: tenant, after: after, order: .oldest, limit: limit)
  }

  /// Returns the time at which the reply under a key was written; `nil` if none is stored.
  package func replyTime(of key: IdempotencyKey) async throws(LedgerError) -> Timestamp? {
    try await idempotentReply(key, to: [])?.createdAt
  }
}

/// The result of looking up an Idempotency-Key.
package enum IdempotencyLookup: Sendable, Equatable {
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
package typealias SessionStorageRows = (cookies: [Cookie], credentials: [StoredCredential])
