/// The key of a stored reply: a tenant and the Idempotency-Key of its request.
package struct IdempotencyKey: Sendable, Hashable {
  package let tenant: Tenant
  @ExactText package private(set) var text: String

  package init(tenant: Tenant, text: String) {
    self.tenant = tenant
    self.text = text
  }
}

/// The reply to a request with an Idempotency-Key, kept for repeats.
package struct IdempotentReply: Sendable, Equatable {
  /// Seconds for which a reply is kept.
  package static let retention = 86_400.0

  package var key: IdempotencyKey
  /// Digest of the request. A different request under the same key is an error.
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
