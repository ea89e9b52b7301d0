internal import HTTPFields
package import JSON

extension WebhookEndpoint: JSONEncodable {
  package func encode(into writer: inout JSONWriter) { writer.object { encodeMembers(into: &$0) } }

  /// Writes the endpoint with its current secret. Only the replies to its creation and to a rotation have it.
  package var jsonWithSecret: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      encodeMembers(into: &writer)
      if let secret = keys.first?.secretText { writer.field("secret", secret) }
    }
    return writer.bytes
  }

  private func encodeMembers(into writer: inout JSONWriter) {
    writer.field("id", id)
    writer.field("url", Webhook.listed(settings.url))
    writer.field("description", settings.description)
    writer.arrayField("events", settings.events) { $0.value($1.rawValue) }
    writer.field("order", settings.order.rawValue)
    writer.field("headers", settings.headers.redacted())
    writer.field("signature", settings.signature.rawValue)
    if let publicKey = keys.first?.publicKeyText { writer.field("publicKey", publicKey) }
    writer.field("maximumConcurrency", settings.maximumConcurrency)
    writer.field("maximumPerSecond", settings.maximumPerSecond)
    writer.field("state", isEnabled ? "enabled" : "disabled")
    writer.field("disabledReason", disabledReason)
    writer.field("failingSince", failingSince)
    writer.field("createdAt", createdAt)
  }
}
