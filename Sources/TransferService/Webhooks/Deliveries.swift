internal import Ledger
internal import TransferModel

/// Use cases of deliveries.
struct Deliveries: Sendable {
  let outbox: Outbox
  let recorder: ChangeRecorder
  let now: @Sendable () -> Timestamp

  private var store: any Ledger { recorder.store }

  func delivery(_ id: DeliveryID, of tenant: Tenant) async throws(ServiceError) -> WebhookDelivery {
    do throws(LedgerError) {
      if let delivery = try await store.delivery(id), delivery.tenant == tenant { return delivery }
    } catch {
      throw .store(error)
    }
    throw .deliveryNotFound
  }

  func page(_ query: DeliveryQuery) async throws(ServiceError) -> [WebhookDelivery] {
    do throws(LedgerError) { return try await store.deliveries(query) } catch { throw .store(error) }
  }

  func shown(_ delivery: WebhookDelivery) -> ShownDelivery {
    ShownDelivery(delivery, url: outbox.url(of: delivery))
  }

  /// Sends a message again now, under its id. It neither waits for other messages nor holds them up.
  func redeliver(_ id: DeliveryID, of tenant: Tenant) async throws(ServiceError) -> WebhookDelivery {
    var wasPending = false
    let again = try await recorder.write { () async throws(ServiceError) in
      let known = try await delivery(id, of: tenant)
      wasPending = known.state == .pending
      var delivery = known
      delivery.redeliver(at: now())
      var change = LedgerChange()
      change.updatedDeliveries = [delivery]
      change.owner = known.sessionID
      change.conditions = [.deliveryState(id, known.state, attempts: known.attemptCount)]
      return (change, delivery)
    }
    recorder.newDeliveries.deliver([again])
    // Messages that waited for it are now ready.
    if wasPending { recorder.outboxChanged.deliver(.isUnknown) }
    return again
  }
}
