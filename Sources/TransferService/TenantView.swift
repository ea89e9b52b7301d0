package import HTTPCache
package import HTTPCookies
package import JSON
package import Ledger
package import TransferModel

/// A tenant's view of the service, and the API's only way to sessions, tasks and their data. It shows no other tenant's
/// resources.
package struct TenantView: Sendable {
  package let tenant: Tenant
  let service: TransferService

  fileprivate init(_ service: TransferService, of tenant: Tenant) {
    (self.service, self.tenant) = (service, tenant)
  }
}

extension TransferService {
  package func view(of tenant: Tenant) -> TenantView { TenantView(self, of: tenant) }
}

// MARK: Reachability

extension TenantView {
  /// Checks whether an origin can be reached now.
  /// - Parameters:
  ///   - timeout: in seconds, for all steps together.
  ///   - hasTenants: whether tokens are configured, so that each tenant has its own limit.
  package func probe(_ url: String, timeout: Double, hasTenants: Bool) async throws -> Reachability {
    try await service.probe(
      ProbeRequest(tenant: tenant, url: url, timeout: timeout), hasTenants: hasTenants)
  }
}

// MARK: Sessions

extension TenantView {
  /// - Parameters:
  ///   - shard: the shard of the new session's id, or `nil` for any shard.
  ///   - reply: makes the reply that is stored under the Idempotency-Key.
  package func createSession(
    _ specification: SessionSpecification, in shard: Shard? = nil,
    reply: @Sendable (TransferSession, _ isNew: Bool) -> IdempotentReply?
  ) async throws(ServiceError) -> (session: TransferSession, isNew: Bool) {
    try await service.sessions.create(specification, of: tenant, in: shard, reply: reply)
  }

  /// Returns the tenant's session with this id. The id of the shared session is the same for all tenants.
  package func session(_ id: SessionID) throws(ServiceError) -> TransferSession {
    try service.authorization.session(
      id == .shared ? service.sessions.shared(of: tenant) : id, of: tenant)
  }

  /// Returns the session with its description and its whole configuration. An idle session has both only in its row.
  package func withConfiguration(_ session: TransferSession) async throws(ServiceError) -> TransferSession {
    try await service.sessions.withConfiguration(session)
  }

  package func sessions(
    type: SessionType?, state: SessionState?, after: SessionID?, order: ListOrder = .oldest, limit: Int
  ) -> [TransferSession] {
    _ = service.sessions.shared(of: tenant)
    return service.sessions.page(
      of: tenant, type: type, state: state, after: after, order: order, limit: limit)
  }

  package func invalidate(
    _ id: SessionID, _ mode: InvalidationMode
  ) async throws(ServiceError) -> TransferSession {
    try await service.sessions.invalidate(session(id).id, mode)
  }

  package func reset(_ id: SessionID) async throws(ServiceError) -> TransferSession {
    try await service.reset(session(id).id)
  }

  package func flush(_ id: SessionID) async throws(ServiceError) -> TransferSession {
    try await service.sessions.flush(session(id).id)
  }

  package func deleteSession(_ id: SessionID) async throws(ServiceError) {
    try await service.deleteSession(session(id).id)
  }
}

// MARK: Cookies, credentials, cache

extension TenantView {
  package func cookies(of id: SessionID, _ filter: CookieFilter) async throws(ServiceError) -> [Cookie] {
    try await service.cookies.cookies(of: session(id).id, filter)
  }

  package func setCookies(_ cookies: [Cookie], of id: SessionID) async throws(ServiceError) -> [Cookie] {
    try await service.cookies.set(cookies, of: session(id).id)
  }

  package func removeCookies(of id: SessionID, _ filter: CookieFilter) async throws(ServiceError) {
    try await service.cookies.remove(of: session(id).id, filter)
  }

  package func credentials(of id: SessionID) async throws(ServiceError) -> [CredentialEntry] {
    try await service.credentials.credentials(of: session(id).id)
  }

  package func setCredential(
    _ credential: Credential, for space: ProtectionSpace, in id: SessionID
  ) async throws(ServiceError) {
    try await service.credentials.set(credential, for: space, in: session(id).id)
  }

  package func removeCredentials(
    of id: SessionID, where matches: @Sendable (ProtectionSpace) -> Bool
  ) async throws(ServiceError) {
    try await service.credentials.remove(of: session(id).id, where: matches)
  }

  package func cache(
    of id: SessionID, entries limit: Int
  ) async throws(ServiceError) -> (usage: CacheUsage, entries: [CacheUsage.Entry])? {
    try await service.caches.cache(of: session(id).id, entries: limit)
  }

  package func emptyCache(of id: SessionID) async throws(ServiceError) {
    try await service.caches.empty(of: session(id).id)
  }
}

// MARK: Decisions

extension TenantView {
  package func decision(_ id: DecisionID) async throws(ServiceError) -> Decision {
    try await service.authorization.decision(id, of: tenant)
  }

  package func decisions(
    of id: SessionID, state: Decision.State?, after: DecisionID?, order: ListOrder, limit: Int
  ) async throws(ServiceError) -> [Decision] {
    try await service.decisions.page(
      of: session(id).id, state: state, after: after, order: order, limit: limit)
  }

  package func answer(_ id: DecisionID, with value: JSONValue) async throws -> Decision {
    try await service.decisions.answer(decision(id), with: value)
  }
}

// MARK: Configurations

extension TenantView {
  package func configuration(_ name: String) async throws(ServiceError) -> NamedConfiguration {
    try await service.configurations.configuration(self.name(name))
  }

  /// - Returns: `nil` if no configuration has the name.
  package func configurationIfAny(_ name: String) async throws(ServiceError) -> NamedConfiguration? {
    try await service.configurations.configurationIfAny(self.name(name))
  }

  package func configurations(
    after: ConfigurationCursor?, order: ListOrder?, limit: Int
  ) async throws(ServiceError) -> [NamedConfiguration] {
    try await service.configurations.page(of: tenant, after: after, order: order, limit: limit)
  }

  package func createConfiguration(
    _ name: String, _ configuration: SessionConfiguration,
    reply: @Sendable (NamedConfiguration) -> IdempotentReply?
  ) async throws(ServiceError) -> NamedConfiguration {
    try await service.configurations.create(self.name(name), configuration, reply: reply)
  }

  package func replaceConfiguration(
    _ name: String, _ configuration: SessionConfiguration,
    if isExpected: @Sendable (NamedConfiguration?) -> Bool
  ) async throws(ServiceError) -> (named: NamedConfiguration, isNew: Bool) {
    try await service.configurations.replace(self.name(name), configuration, if: isExpected)
  }

  package func deleteConfiguration(_ name: String) async throws(ServiceError) {
    try await service.configurations.delete(self.name(name))
  }

  private func name(_ text: String) -> ConfigurationName { ConfigurationName(tenant: tenant, text: text) }
}
