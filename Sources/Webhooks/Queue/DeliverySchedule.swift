internal import HTTPDates
internal import Limits
package import TransferModel

/// The times of a delivery's attempts.
package struct DeliverySchedule: Sendable, Equatable {
  /// Seconds before each attempt, including the first.
  package let delays: [Double]

  /// Standard Webhooks' recommended schedule.
  package static let standard = DeliverySchedule(WebhookDelivery.standardDelays)

  /// The longest delay, in seconds, that an endpoint can request with Retry-After.
  package static let maximumRetryAfter = Double(Limits.webhookRetryAfterSeconds.value)

  /// - Parameter delays: at least one.
  package init(_ delays: [Double]) {
    precondition(!delays.isEmpty, "a schedule needs an attempt")
    self.delays = delays
  }

  /// The destination's response to an attempt.
  package struct EndpointResponse: Sendable {
    /// `nil` if there was no response.
    package var status: Int?
    /// The value of the field Retry-After.
    package var retryAfter: String?
    package var error: String?
    /// The first bytes of the response's body, which may answer a decision.
    package var body: [UInt8] = []
    package init(status: Int?, retryAfter: String? = nil, error: String? = nil) {
      self.status = status
      self.retryAfter = retryAfter
      self.error = error
    }

    package var isSuccess: Bool { status.map { (200..<300).contains($0) } ?? false }
    /// Whether the destination asks for no further messages.
    package var isGone: Bool { status == 410 }
  }

  /// Returns the delivery after an attempt. A 2xx is success. A 410 ends the delivery to a webhook that is no endpoint.
  /// - Parameters:
  ///   - start: the start of the attempt.
  ///   - jitter: 0 to 1; spreads the next attempt over a tenth of its delay.
  package func delivery(
    _ known: WebhookDelivery, after response: EndpointResponse, from start: Timestamp, to end: Timestamp,
    jitter: Double
  ) -> WebhookDelivery {
    var delivery = known
    let text = String(decoding: response.body.prefix(Limits.shownReplyBytes.value), as: UTF8.self)
    // The reply is an answer, which may have a password.
    let isAnswer = known.decisionID != nil && response.isSuccess
    delivery.record(
      DeliveryAttempt(
        at: end, status: response.status, latency: max(0, end.since(start)),
        reply: response.status == nil || isAnswer ? nil : text, error: response.error))
    guard !response.isSuccess else {
      delivery.finish(.delivered, at: end)
      return delivery
    }
    delivery.schedulePlace = max(delivery.schedulePlace + 1, passed(by: known, at: start))
    // The endpoint is disabled, and keeps its messages.
    if response.isGone, delivery.endpointID != nil {
      delivery.schedulePlace = min(delivery.schedulePlace, delays.count - 1)
      delivery.nextAttemptAt = end
      return delivery
    }
    guard !response.isGone, delivery.schedulePlace < delays.count else {
      delivery.finish(.failed, at: end)
      return delivery
    }
    let delay = delays[delivery.schedulePlace]
    let asked = response.retryAfter.flatMap { RetryAfter.seconds($0, now: end) } ?? 0
    delivery.nextAttemptAt = end.adding(
      seconds: max(delay + delay * 0.1 * jitter, min(asked, Self.maximumRetryAfter)))
    return delivery
  }

  /// The schedule of a message runs from its creation, also while it waits for an earlier one.
  /// - Returns: how many attempts were due before its first one.
  private func passed(by delivery: WebhookDelivery, at time: Timestamp) -> Int {
    guard delivery.place == .promoted, delivery.attemptCount == 0 else { return 0 }
    let age = time.since(delivery.createdAt)
    var due = 0.0
    return delays.prefix { delay in
      due += delay
      return due <= age
    }.count
  }
}
