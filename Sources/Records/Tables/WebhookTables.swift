package import TransferModel

// The documents of webhook endpoints and of deliveries.

extension WebhookEndpoint {
  package var document: [UInt8] {
    Document.write { coder throws(RecordFault) in _ = try Self.members(&coder, self) }
  }

  /// Reads an endpoint.
  /// - Parameters:
  ///   - id: the id, the tenant and the time of creation, from separate columns.
  package init(
    document: [UInt8], id: EndpointID, tenant: Tenant, createdAt: Timestamp
  ) throws(RecordFault) {
    let empty = WebhookEndpoint(
      id: id, tenant: tenant, createdAt: createdAt, settings: Settings(url: ""), keys: [])
    self = try Document.read(document) { coder throws(RecordFault) in try Self.members(&coder, empty) }
  }

  /// Writes the endpoint, or reads its members over those of `value`.
  private static func members(_ coder: inout RecordCoder, _ value: Self) throws(RecordFault) -> Self {
    var endpoint = value
    try endpoint.settings.members(&coder)
    try coder.field("keys", &endpoint.keys)
    try coder.field("disabledReason", &endpoint.disabledReason)
    try coder.field("failingSince", &endpoint.failingSince)
    try coder.field("revision", &endpoint.revision, else: 0)
    return endpoint
  }
}

extension WebhookEndpoint.Settings {
  fileprivate mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
    try coder.field("url", &url)
    try coder.field("description", &description)
    try coder.field("events", &events)
    try coder.field("order", &order, else: .task)
    try coder.field("headers", &headers)
    try coder.field("signature", &signature, else: .v1)
    try coder.field("maximumConcurrency", &maximumConcurrency, else: Self.defaultConcurrency)
    try coder.field("maximumPerSecond", &maximumPerSecond)
  }
}

extension SigningKey: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    SigningKey(
      try coder.required("scheme", value?.scheme),
      try coder.required("bytes", value.map { RecordBytes(bytes: $0.bytes) }).bytes,
      publicKey: try coder.optional("publicKey", value?.publicKey.map { RecordBytes(bytes: $0) })?.bytes,
      expiresAt: try coder.optional("expiresAt", value?.expiresAt))
  }
}

extension DeliveryAttempt: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    DeliveryAttempt(
      at: try coder.required("time", value?.time), status: try coder.optional("status", value?.status),
      latency: try coder.optional("latency", value?.latency),
      reply: try coder.optional("reply", value?.reply), error: try coder.optional("error", value?.error))
  }
}

extension WebhookDelivery {
  /// The attempts, as a document.
  package var attemptsDocument: [UInt8] {
    Document.write { coder throws(RecordFault) in _ = try coder.required("attempts", attempts) }
  }

  package static func attempts(_ document: [UInt8]) throws(RecordFault) -> [DeliveryAttempt] {
    try Document.read(document) { coder throws(RecordFault) in
      try coder.required("attempts", [DeliveryAttempt]?.none)
    }
  }
}
