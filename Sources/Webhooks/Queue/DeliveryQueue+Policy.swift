internal import TransferModel

extension DeliveryQueue {
  /// The limits of one destination.
  package struct Policy: Sendable, Equatable {
    package var maximumConcurrency = WebhookEndpoint.Settings.defaultConcurrency
    /// Attempts a second; `nil` for no limit.
    package var maximumPerSecond: Double?
    package var isEnabled = true
    package init() {}
  }
}
