@testable import Webhooks

extension WebhookSender {
  /// Posts a message and returns the response.
  func send(_ message: OutgoingMessage) async -> DeliverySchedule.EndpointResponse? {
    await withCheckedContinuation { continuation in send(message) { continuation.resume(returning: $0) } }
  }
}
