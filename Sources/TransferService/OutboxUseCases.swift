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
    _ scope: EventScope, after: Int64?, types: Set<EventType>?, wantsProgress: Bool
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
    return EventSubscription(
      scope: scope, after: after, types: types, wantsProgress: wantsProgress, preamble: preamble,
      store: store,
      hub: hub)
  }
}
