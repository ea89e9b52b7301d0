/// A webhook of a task or a session: where events are posted, and the key that signs them.
package struct Webhook: Sendable, Equatable {
  package var url: String
  /// `whsec_` and base64, as Standard Webhooks has it; nil: the service's own secret. Never leaves in a reply.
  package var secret: String?
  package init(url: String, secret: String?) {
    self.url = url
    self.secret = secret
  }
}
