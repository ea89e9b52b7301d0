/// A webhook of a task or a session: the URL that receives events, and the key that signs them.
package struct Webhook: Sendable, Equatable {
  package var url: String
  /// A Standard Webhooks secret, `whsec_` and base64; `nil` for the service's own secret. Replies never contain it.
  package var secret: String?
  package init(url: String, secret: String?) {
    self.url = url
    self.secret = secret
  }
}
