internal import Ledger
internal import TransferCore
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
    let again = try await recorder.write { () async throws(ServiceError) in
      let known = try await delivery(id, of: tenant)
      if let endpoint = known.endpointID, outbox.endpoints.registry.endpoint(endpoint) == nil {
        throw .endpointDeleted
      }
      var delivery = known
      delivery.redeliver(at: now())
      var change = LedgerChange()
      change.updatedDeliveries = [delivery]
      change.owner = known.sessionID
      change.conditions = [.deliveryState(id, known.state, attempts: known.attemptCount)]
      return (change, delivery)
    }
    if !InjectedFault.losesRedeliveries.isPresent { recorder.outboxChanged.deliver(.redelivered(again)) }
    return again
  }
}
