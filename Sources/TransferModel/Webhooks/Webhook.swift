/// A webhook of a task or a session: the URL that receives events, and the key that signs them.
package struct Webhook: Sendable, Equatable {
  package var url: String
  /// A Standard Webhooks secret, `whsec_` and base64; `nil` for the service's own secret. Replies never contain it.
  package var secret: String?
  package var order: DeliveryOrder
  package init(url: String, secret: String?, order: DeliveryOrder = .task) {
    self.url = url
    self.secret = secret
    self.order = order
  }
}

/// The order of the messages to one destination.
package enum DeliveryOrder: String, Sendable, CaseIterable {
  /// The messages of a task are sent one after the other, as on URLSession's serial delegate queue.
  case task
  case none
}
