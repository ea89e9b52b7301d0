import Testing
import TransferModel

@testable import Cluster

@Suite struct PeerNotificationTests {
  private static let named = (1...3).map {
    PendingDestination(DestinationID(high: 1, low: $0), of: Tenant(name: "tenant \"\($0)\""))
  }

  @Test(arguments: [PeerNotification.endpoints, .messages(to: named), .messages(to: []), .messages(to: nil)])
  func `notification is the same after its journey`(_ notification: PeerNotification) {
    #expect(PeerNotification(json: notification.json) == notification)
  }

  @Test func `notification of many destinations names none`() {
    func deliveries(_ count: UInt64) -> [WebhookDelivery] {
      (0..<count).map {
        WebhookDelivery(
          id: DeliveryID(high: 1, low: $0), tenant: .default, sessionID: .shared, type: .taskDidComplete,
          destination: DestinationID(high: 2, low: $0 / 2), payload: [], createdAt: Timestamp(seconds: 0))
      }
    }
    #expect(
      PeerNotification.messages(deliveries(2))
        == .messages(to: [PendingDestination(DestinationID(high: 2, low: 0), of: .default)]))
    #expect(PeerNotification.messages(deliveries(1002)) == .messages(to: nil))
  }
}
