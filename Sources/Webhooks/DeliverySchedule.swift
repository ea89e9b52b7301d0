internal import HTTPDates
internal import Limits
package import TransferModel

/// The times of a delivery's attempts.
package enum DeliverySchedule {
  /// Seconds before each attempt, including the first (Standard Webhooks' recommended schedule).
  package static let delays: [Double] = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

  /// The longest delay, in seconds, that an endpoint can request with Retry-After.
  package static let maximumRetryAfter = Double(Limits.webhookRetryAfterSeconds.value)

  /// The endpoint's response to an attempt.
  package struct EndpointResponse: Sendable {
    /// `nil` if there was no response.
    package var status: Int?
    /// The value of the field Retry-After.
    package var retryAfter: String?
    package var error: String?
    /// The response's body, which may answer a decision.
    package var body: [UInt8] = []
    package init(status: Int?, retryAfter: String? = nil, error: String? = nil) {
      self.status = status
      self.retryAfter = retryAfter
      self.error = error
    }
  }

  /// Returns the delivery after an attempt. A 2xx is success; 410 ends the delivery at once.
  /// - Parameter jitter: 0 to 1; spreads the next attempt over a tenth of its delay.
  package static func nextDelivery(
    _ answer: EndpointResponse, of delivery: WebhookDelivery, at time: Timestamp, jitter: Double
  ) -> WebhookDelivery {
    var delivery = delivery
    delivery.attempts += 1
    delivery.lastAttemptAt = time
    delivery.lastStatus = answer.status
    delivery.lastError = answer.error
    switch answer.status {
    case .some(200..<300): delivery.state = .delivered
    case .some(410): delivery.state = .failed
    default:
      guard delivery.attempts < delays.count else {
        delivery.state = .failed
        break
      }
      let delay = delays[delivery.attempts]
      let asked = answer.retryAfter.flatMap { RetryAfter.seconds($0, now: time) } ?? 0
      let wait = max(delay + delay * 0.1 * jitter, min(asked, maximumRetryAfter))
      delivery.nextAttemptAt = time.adding(seconds: wait)
    }
    if delivery.state != .pending { delivery.finishedAt = time }
    return delivery
  }
}
