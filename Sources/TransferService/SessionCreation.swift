internal import Synchronization
internal import TransferEngine
package import TransferModel
internal import TransferStore

/// What a client asks for when it creates a session.
package struct SessionSpecification: Sendable {
  package var type = SessionType.default
  package var description: String?
  package var configuration = SessionConfiguration()
  package var delegate: SessionDelegate?
  /// Of a background session, and of no other.
  package var identifier: String?

  package init() {}
}

extension TransferService {
  /// Creates a session (URLSession.init(configuration:delegate:delegateQueue:)), or finds the background session that
  /// has the identifier.
  /// - Parameter reply: what repeats under an Idempotency-Key get.
  func createSession(
    _ specification: SessionSpecification, of tenant: Tenant,
    reply: @Sendable (TransferSession, _ isNew: Bool) -> IdempotentReply? = { _, _ in nil }
  ) async throws(ServiceError) -> (session: TransferSession, isNew: Bool) {
    guard !registry.withLock({ $0.isDraining }) else { throw .draining }
    let session = TransferSession(
      id: identifiers.make(), type: specification.type, createdAt: now,
      description: specification.description, configuration: specification.configuration,
      delegate: specification.delegate, identifier: specification.identifier, tenant: tenant)
    guard let name = session.backgroundName else {
      try await keep(session, reply)
      return (session, true)
    }
    if let known = await claim(name) {
      try check(known, for: session)
      var change = StoreChange()
      change.idempotentReply = reply(known, false)
      if change.idempotentReply != nil { try await write(change) }
      return (known, false)
    }
    do throws(ServiceError) {
      try await keep(session, reply)
    } catch {
      release(name, to: nil)
      throw error
    }
    release(name, to: session.id)
    return (session, true)
  }

  private func keep(
    _ session: TransferSession, _ reply: (TransferSession, Bool) -> IdempotentReply?
  ) async throws(ServiceError) {
    var change = StoreChange()
    change.sessions = [session]
    change.idempotentReply = reply(session, true)
    try await write(change)
    openHandover(of: session)
    if session.type == .background { background?.take(session.id) }
    registry.withLock { $0.sessions[session.id] = .init(session: session, lastIdentifier: 0) }
  }

  /// Takes a name; or gives the session that has it, once that is created.
  private func claim(_ name: BackgroundName) async -> TransferSession? {
    while true {
      let waiter = Waiter()
      let (claim, known) = registry.withLock { registry in
        let sessions = registry.sessions
        let claim = registry.background.claim(
          name, isOver: { (sessions[$0]?.session.state ?? .invalid) == .invalid },
          elseCall: { waiter.resume() })
        if case .known(let id) = claim { return (claim, sessions[id]?.session) }
        return (claim, nil)
      }
      guard case .underWay = claim else { return known }
      await waiter.wait()
    }
  }

  private func release(_ name: BackgroundName, to session: SessionID?) {
    for wake in registry.withLock({ $0.background.release(name, to: session) }) { wake() }
  }

  /// Throws where a client that asks for `wanted` must not get `known`.
  private func check(_ known: TransferSession, for wanted: TransferSession) throws(ServiceError) {
    guard known.state == .active else { throw .identifierBeingInvalidated }
    let differences = known.differences(to: wanted)
    guard differences.isEmpty else { throw .identifierInUse(differences: differences) }
  }
}
