internal import Synchronization
internal import TransferEngine
package import TransferModel
internal import TransferStore

extension TransferService {
  /// Messages whose next attempt is due.
  package func dueDeliveries(limit: Int) async throws(ServiceError) -> [WebhookDelivery] {
    do throws(StoreError) { return try await store.dueDeliveries(at: now, limit: limit) } catch {
      throw .store(error)
    }
  }

  /// When the next attempt is due; nil where the outbox is empty.
  package func nextDeliveryTime() async throws(ServiceError) -> Timestamp? {
    do throws(StoreError) { return try await store.nextDeliveryTime() } catch { throw .store(error) }
  }

  /// Writes what came of attempts; `committed` is called once that is on the disk.
  package func recordAttempts(_ deliveries: [WebhookDelivery], committed: @escaping @Sendable () -> Void) {
    var change = StoreChange()
    change.updatedDeliveries = deliveries
    store.record(change, committed: committed)
  }

  /// A stream of the events of `scope`.
  package func subscribe(
    _ scope: EventScope, after: Int64?, types: Set<EventType>?, wantsProgress: Bool, wantsData: Bool = false
  ) async throws(ServiceError) -> EventSubscription {
    switch scope {
    case .all: break
    case .session(let id): _ = try session(id)
    case .task(let id): _ = try await task(id)
    }
    var preamble = Array("retry: 2000\n: connected\n\n".utf8)
    var after = after
    if let sequence = after, sequence > store.lastSequence {
      // The client knows events that this store never had: it is told, and starts anew.
      var writer = ServerSentEventWriter()
      writer.append(
        event: TransferEvent(.eventsDidReset, at: now, session: .shared, .reset(oldest: 1)), sequence: nil)
      preamble += writer.bytes
      after = 0
    }
    let subscription = EventSubscription(
      scope: scope, after: after, types: types, wantsProgress: wantsProgress, wantsData: wantsData,
      preamble: preamble, store: store, hub: hub, pool: pool, now: identifiers.now)
    if wantsData { attachBodies(to: subscription) }
    return subscription
  }

  /// Bodies that are under way already, from their first byte on.
  private func attachBodies(to subscription: EventSubscription) {
    let tasks = registry.withLock { registry in
      registry.tasks.values.map(\.task).filter { $0.kind != .download && $0.response != nil }
    }
    for task in tasks where subscription.scope.contains(session: task.sessionID, task: task.id) {
      guard let live = engine.liveBody(of: task.id, in: task.sessionID) else { continue }
      subscription.attach(live, of: task.id, in: task.sessionID, isUnderWay: true)
    }
  }
}
