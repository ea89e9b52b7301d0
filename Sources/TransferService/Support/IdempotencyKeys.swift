package import Ledger
internal import Synchronization
internal import TransferCore
package import TransferModel

/// Requests with an Idempotency-Key. The first request runs; repeated requests receive its reply.
package final class IdempotencyKeys: Sendable {
  package enum Admission: Sendable {
    case fresh
    case replay(IdempotentReply)
  }
  private let store: any Ledger
  private let now: @Sendable () -> Timestamp
  private let inProgress = Mutex<Set<IdempotencyKey>>([])

  package init(store: any Ledger, now: @escaping @Sendable () -> Timestamp) {
    self.store = store
    self.now = now
  }

  /// Admits a request, or returns the stored reply. After `.fresh` the caller must call `release`.
  package func admit(
    _ key: IdempotencyKey, digest: [UInt8]
  ) async throws(ServiceError) -> Admission {
    guard inProgress.withLock({ $0.insert(key).inserted }) || InjectedFault.admitsRepeatsAtOnce.isPresent
    else {
      throw .idempotencyInProgress
    }
    do throws(ServiceError) {
      guard let known = try await reply(key, digest: digest) else { return .fresh }
      release(key)
      return .replay(known)
    } catch {
      release(key)
      throw error
    }
  }

  /// - Returns: the stored reply for repeated requests, or `nil` if there is no reply or it has expired.
  package func reply(
    _ key: IdempotencyKey, digest: [UInt8]
  ) async throws(ServiceError) -> IdempotentReply? {
    let known: IdempotencyLookup?
    do throws(LedgerError) {
      known = try await store.idempotentReply(key, to: digest)
    } catch {
      throw .store(error)
    }
    let oldest = now().adding(seconds: -IdempotentReply.retention)
    guard let known, known.createdAt > oldest else { return nil }
    guard case .matching(let reply) = known else { throw .idempotencyMismatch }
    return reply
  }

  package func release(_ key: IdempotencyKey) { inProgress.withLock { _ = $0.remove(key) } }

  /// Replaces a stored reply. Returns when the reply is committed, so a client that receives the reply may repeat its request at once.
  /// - Parameter session: the session of the task that the reply describes; `nil` if it describes none.
  package func replace(_ reply: IdempotentReply, of session: SessionID?) async {
    var change = LedgerChange()
    change.replaceReply(reply, about: session)
    change.owner = session
    await withCheckedContinuation { continuation in
      store.record(change) { (_: Bool) in continuation.resume() }
    }
  }
}
