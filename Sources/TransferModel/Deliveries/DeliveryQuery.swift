/// The selection of a tenant's deliveries.
package struct DeliveryQuery: Sendable {
  package let tenant: Tenant
  package var endpoint: EndpointID?
  package var task: TaskID?
  package var state: WebhookDelivery.State?
  /// Deliveries that were created at this time or later.
  package var since: Timestamp?
  /// The last delivery of the page before.
  package var after: DeliveryID?
  package var order = ListOrder.oldest
  package var limit: Int

  package init(of tenant: Tenant, limit: Int) {
    self.tenant = tenant
    self.limit = limit
  }
}
