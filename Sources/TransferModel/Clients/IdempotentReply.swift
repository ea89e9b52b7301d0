/// What finds a reply again: the Idempotency-Key that a client sent, among those of its tenant.
package struct IdempotencyKey: Sendable, Hashable {
  package let tenant: Tenant
  package let text: String

  package init(tenant: Tenant, text: String) {
    self.tenant = tenant
    self.text = text
  }
}

/// The reply to a request with an Idempotency-Key, kept for repeats.
package struct IdempotentReply: Sendable, Equatable {
  /// Seconds for which a reply is kept for repeats.
  package static let retention = 86_400.0

  package var key: IdempotencyKey
  /// Digest of the request: another request under the same key is an error.
  package var digest: [UInt8]
  package var status: Int
  package var contentType: String
  package var location: String?
  package var body: [UInt8]
  package var createdAt: Timestamp

  package init(
    key: IdempotencyKey, digest: [UInt8], status: Int, contentType: String, location: String?,
    body: [UInt8],
    createdAt: Timestamp
  ) {
    self.key = key
    self.digest = digest
    self.status = status
    self.contentType = contentType
    self.location = location
    self.body = body
    self.createdAt = createdAt
  }
}
