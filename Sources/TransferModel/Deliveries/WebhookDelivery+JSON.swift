package import JSON

/// A delivery as clients see it.
package struct ShownDelivery: Sendable {
  package let delivery: WebhookDelivery
  /// The URL without user info, query and fragment; `nil` if its session or endpoint was deleted.
  package let url: String?

  package init(_ delivery: WebhookDelivery, url: String?) {
    self.delivery = delivery
    self.url = url.map { Webhook.listed($0) }
  }
}

extension ShownDelivery: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("id", delivery.id)
      // The value of the field `webhook-id`, by which receivers recognise repeated messages.
      writer.field("webhookId", delivery.id)
      writer.field("endpoint", delivery.endpointID)
      writer.field("url", url)
      writer.field("type", delivery.type.rawValue)
      writer.field("sessionId", delivery.sessionID)
      writer.field("taskId", delivery.taskID)
      writer.field("state", delivery.state.rawValue)
      writer.field("attemptCount", delivery.attemptCount)
      writer.arrayField("attempts", delivery.attempts) { $1.encode(into: &$0) }
      writer.field("createdAt", delivery.createdAt)
      writer.field("nextAttemptAt", delivery.state == .pending ? delivery.nextAttemptAt : nil)
      writer.field("finishedAt", delivery.finishedAt)
    }
  }
}
