internal import Crypto
internal import Ledger
internal import TransferCore
internal import TransferModel

/// Tenant authorization. Another tenant's resource is reported as not found, and no request waits for it.
/// A session names its tenant; tasks and decisions belong to the tenant of their session.
struct TenantAuthorization: Sendable {
  let sessions: Sessions
  let tasks: Tasks

  private var store: any Ledger { sessions.runtime.recorder.store }

  /// - Returns: `nil` if there is no such session.
  private func tenant(of session: SessionID) -> Tenant? { sessions.runtime.session(session)?.tenant }

  private func isOwner(_ tenant: Tenant, of session: SessionID) -> Bool {
    self.tenant(of: session) == tenant || InjectedFault.ignoresTheTenant.isPresent
  }

  func session(_ id: SessionID, of tenant: Tenant) throws(ServiceError) -> TransferSession {
    do throws(ServiceError) {
      let session = try sessions.session(id)
      guard session.tenant == tenant else { throw .sessionNotFound }
      return session
    } catch {
      throw concealed(error, from: tenant, behind: .sessionNotFound)
    }
  }

  func task(_ id: TaskID, of tenant: Tenant) async throws(ServiceError) -> TransferTask {
    do throws(ServiceError) {
      let task = try await tasks.task(id)
      guard isOwner(tenant, of: task.sessionID) else { throw .taskNotFound }
      return task
    } catch {
      throw concealed(error, from: tenant, behind: .taskNotFound)
    }
  }

  /// Throws if the tenant has no such task. A task that is being created is found although its row is not committed.
  func check(_ id: TaskID, of tenant: Tenant) async throws(ServiceError) {
    guard let session = sessions.runtime.directory[id] else {
      _ = try await task(id, of: tenant)
      return
    }
    guard isOwner(tenant, of: session) else { throw .taskNotFound }
  }

  func decision(_ id: DecisionID, of tenant: Tenant) async throws(ServiceError) -> Decision {
    do throws(LedgerError) {
      if let decision = try await store.decision(id), self.tenant(of: decision.sessionID) == tenant {
        return decision
      }
    } catch {
      throw concealed(.store(error), from: tenant, behind: .decisionNotFound)
    }
    throw .decisionNotFound
  }

  func file(_ id: FileID, of tenant: Tenant) async throws(ServiceError) -> StoredFile {
    do throws(LedgerError) {
      if let file = try await store.file(id), file.tenant == tenant { return file }
    } catch {
      throw concealed(.store(error), from: tenant, behind: .fileNotFound)
    }
    throw .fileNotFound
  }

  /// Reports an unreadable row to its own tenant only; other tenants receive `notFound`.
  private func concealed(
    _ error: ServiceError, from tenant: Tenant, behind notFound: ServiceError
  ) -> ServiceError {
    guard case .storedDataUnreadable(let row) = error, owner(of: row) != tenant else { return error }
    return notFound
  }

  private func owner(of row: UnreadableRow) -> Tenant? {
    switch row.owner {
    case .tenant(let tenant): return tenant
    case .session(let session):
      return tenant(of: session) ?? store.unreadable.row(.session, session).flatMap { owner(of: $0) }
    case nil: return nil
    }
  }
}

extension SessionID {
  static func shared(of tenant: Tenant) -> Self {
    guard tenant != .default else { return .shared }
    let digest = Array(SHA256.hash(data: Array("ferry shared session of \(tenant.name)".utf8)))
    func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    return SessionID(sharedBy: (word(digest[0..<8]), word(digest[8..<16])))
  }
}
