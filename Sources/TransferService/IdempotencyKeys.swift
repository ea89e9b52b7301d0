package import Ledger
internal import Synchronization
internal import TransferCore
package import TransferModel

/// Requests under an Idempotency-Key: one runs, its repeats get its reply.
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

  /// Admits a request, or gives the reply of the one before it. After `.fresh` the caller owes a `release`.
  package func admit(
    _ key: IdempotencyKey, digest: [UInt8]
  ) async throws(ServiceError) -> Admission {
    guard inProgress.withLock({ $0.insert(key).inserted }) || Flaw.admitsRepeatsAtOnce.isPresent else {
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

  /// The reply that is kept for repeats of a request; nil where there is none.
  package func reply(
    _ key: IdempotencyKey, digest: [UInt8]
  ) async throws(ServiceError) -> IdempotentReply? {
    let known: KeptReply?
    do throws(StoreError) {
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

  /// Replaces the stored reply, which describes a task of that session. Returns when the reply is recorded: a
  /// client that receives it may repeat its request at once.
  package func replace(_ reply: IdempotentReply, of session: SessionID) async {
    var change = StoreChange()
    change.replaceReply(reply, about: session)
    change.owner = session
    await withCheckedContinuation { continuation in
      store.record(change) { (_: Bool) in continuation.resume() }
    }
  }
}
