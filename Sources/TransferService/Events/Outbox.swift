internal import Cluster
internal import EventLoop
internal import Ledger
internal import TransferCore
internal import TransferModel

/// The deliveries of webhook messages, as the webhook dispatcher uses them.
struct Outbox: Sendable {
  let runtime: SessionRuntime
  let now: @Sendable () -> Timestamp

  private var store: any Ledger { runtime.recorder.store }

  /// Returns the deliveries whose next attempt is due.
  func due(limit: Int) async throws(ServiceError) -> [WebhookDelivery] {
    do throws(LedgerError) {
      let due = try await store.dueDeliveries(at: now(), limit: limit)
      // A session that is arriving must be notified of its deliveries' end. The dispatcher looks again when the session is here.
      return due.filter { runtime.cluster.holds($0.sessionID.shard) || runtime.session($0.sessionID) != nil }
    } catch {
      throw .store(error)
    }
  }

  /// - Returns: the webhook that receives a message, or `nil` if its session cannot be read.
  func webhook(of delivery: WebhookDelivery) -> Webhook? {
    delivery.webhook ?? runtime.session(delivery.sessionID)?.delegate?.webhook
  }

  /// - Returns: the time of the next attempt, or `nil` if there are no messages.
  func nextTime() async throws(ServiceError) -> Timestamp? {
    do throws(LedgerError) { return try await store.nextDeliveryTime() } catch { throw .store(error) }
  }

  /// Notes that a delivery is about to be sent. Before `session.handleEvents` is sent, everything recorded so far is committed,
  /// because the message makes the client read the session's state.
  func willAttempt(_ delivery: WebhookDelivery) async {
    guard delivery.type == .sessionHandleEvents else { return }
    _ = await runtime.updateAndCommit(delivery.sessionID) { machine, step in
      machine.apply(.attempts(delivery.id), &step)
    }
  }

  /// Records the results of attempts. `settled` is called after the commit, or if another service owns the session now.
  func record(_ deliveries: [WebhookDelivery], settled: @escaping @Sendable () -> Void) {
    let groups = Dictionary(grouping: deliveries, by: \.sessionID).sorted { $0.key < $1.key }
    let left = CompletionCounter(from: groups.count + 1, settled)
    for (session, deliveries) in groups {
      let settled = deliveries.filter { $0.state != .pending }.map(\.id)
      let found: Void? = runtime.update(session) { machine, step in
        step.attempts = deliveries
        if !settled.isEmpty { machine.apply(.settled(settled), &step) }
        step.onCommit.append { _ in left.count() }
      }
      guard found == nil else { continue }
      // The session cannot be read, or was deleted.
      var change = LedgerChange()
      change.updatedDeliveries = deliveries
      change.owner = session
      runtime.recorder.record(change) { _ in left.count() }
    }
    left.count()
  }
}
