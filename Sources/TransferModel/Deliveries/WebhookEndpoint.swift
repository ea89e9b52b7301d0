package import HTTPFields

/// A tenant's webhook endpoint, which receives the selected events of all sessions.
package struct WebhookEndpoint: Sendable, Equatable {
  package let id: EndpointID
  package let tenant: Tenant
  package let createdAt: Timestamp
  package var settings: Settings
  /// The current key, followed by replaced keys that still sign.
  package var keys: [SigningKey]
  /// The reason why no messages are sent; `nil` while the endpoint is enabled.
  package var disabledReason: String?
  /// The first failed attempt since the last success, if the failures have lasted for a while.
  package var failingSince: Timestamp?
  /// Grows with each change.
  package var revision = 0

  /// The members that clients set.
  package struct Settings: Sendable, Equatable {
    package var url: String
    package var description: String?
    package var events: [EventType] = [.taskDidComplete]
    package var order = DeliveryOrder.task
    package var headers = HTTPHeaders()
    package var signature = SignatureScheme.v1
    package var maximumConcurrency = Self.defaultConcurrency
    /// Attempts a second; `nil` for no limit.
    package var maximumPerSecond: Double?

    package static let defaultConcurrency = 16

    package init(url: String) { self.url = url }
  }

  package init(
    id: EndpointID, tenant: Tenant, createdAt: Timestamp, settings: Settings, keys: [SigningKey]
  ) {
    self.id = id
    self.tenant = tenant
    self.createdAt = createdAt
    self.settings = settings
    self.keys = keys
  }

  package var isEnabled: Bool { disabledReason == nil }

  /// The queue of the endpoint's messages.
  package var destination: DestinationID { DestinationID(high: id.high, low: id.low) }

  package func subscribes(to type: EventType) -> Bool { settings.events.contains(type) }

  /// The keys that sign at a time.
  package func signingKeys(at time: Timestamp) -> [SigningKey] {
    keys.filter { key in key.expiresAt.map { $0 > time } ?? true }
  }
}
