import Testing
import TransferModel

@testable import Cluster

@Suite struct PeerNoticeTests {
  private static let named = (1...3).map {
    PendingDestination(DestinationID(high: 1, low: $0), of: Tenant(name: "tenant \"\($0)\""))
  }

  @Test(arguments: [PeerNotice.endpoints, .messages(to: named), .messages(to: []), .messages(to: nil)])
  func `notice is the same after its journey`(_ notice: PeerNotice) {
    #expect(PeerNotice(json: notice.json) == notice)
  }

  @Test func `notice of many destinations names none`() {
    func deliveries(_ count: UInt64) -> [WebhookDelivery] {
      (0..<count).map {
        WebhookDelivery(
          id: DeliveryID(high: 1, low: $0), tenant: .default, sessionID: .shared, type: .taskDidComplete,
          destination: DestinationID(high: 2, low: $0 / 2), payload: [], createdAt: Timestamp(seconds: 0))
      }
    }
    #expect(
      PeerNotice.messages(deliveries(2))
        == .messages(to: [PendingDestination(DestinationID(high: 2, low: 0), of: .default)]))
    #expect(PeerNotice.messages(deliveries(1002)) == .messages(to: nil))
  }
}
