import Testing
import TransferModel

@testable import Webhooks

@Suite struct DeliveryScheduleTests {
  private static let now = Timestamp(seconds: 1_700_000_000)

  private func delivery(attempts: Int = 0) -> WebhookDelivery {
    var delivery = WebhookDelivery(
      id: DeliveryID(high: 1, low: 2), sessionID: .shared, taskID: nil, type: .taskDidComplete,
      webhook: Webhook(url: "https://example.com/hook", secret: nil), payload: [1, 2, 3],
      createdAt: Timestamp(seconds: 1_600_000_000))
    delivery.attempts = attempts
    return delivery
  }

  private func after(
    _ answer: DeliverySchedule.EndpointResponse, attempts: Int = 0, jitter: Double = 0
  ) -> WebhookDelivery {
    DeliverySchedule.nextDelivery(answer, of: delivery(attempts: attempts), at: Self.now, jitter: jitter)
  }

  @Test(arguments: [200, 201, 202, 204, 226, 299], [0, 9])
  func `2xx ends the delivery successfully`(_ status: Int, _ attempts: Int) {
    let result = after(.init(status: status), attempts: attempts)
    #expect(result.state == .delivered)
    #expect(result.lastStatus == status)
    #expect(result.attempts == attempts + 1)
  }

  @Test(arguments: [100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 404, 409, 411, 429, 500, 503, 599])
  func `other statuses are retried`(_ status: Int) {
    let result = after(.init(status: status))
    #expect(result.state == .pending)
    #expect(result.lastStatus == status)
    #expect(result.nextAttemptAt == Self.now.adding(seconds: 5))
    #expect(result.lastAttemptAt == Self.now)
  }

  @Test(arguments: [0, 4, 9])
  func `410 ends the delivery at once`(_ attempts: Int) {
    let result = after(.init(status: 410, retryAfter: "60"), attempts: attempts)
    #expect(result.state == .failed)
    #expect(result.attempts == attempts + 1)
    #expect(result.nextAttemptAt == delivery().nextAttemptAt)
  }

  @Test func `missing response is retried and keeps its reason`() {
    let result = after(.init(status: nil, error: "no reply within 15 s"))
    #expect(result.state == .pending)
    #expect(result.lastStatus == nil)
    #expect(result.lastError == "no reply within 15 s")
    let later = DeliverySchedule.nextDelivery(.init(status: 500), of: result, at: Self.now, jitter: 0)
    #expect(later.lastError == nil)
    #expect(later.lastStatus == 500)
  }

  @Test(
    arguments: [
      (nil, 5), ("0", 5), ("4", 5), ("5", 5), ("6", 6), (" 120 ", 120), ("86400", 86_400),
      ("86401", 86_400), (String(repeating: "9", count: 400), 86_400), ("-100", 5), ("soon", 5), ("", 5),
      // Dates in the three formats of RFC 9110 §5.6.7; now is 22:13:20.
      ("Tue, 14 Nov 2023 22:15:20 GMT", 120), ("Tuesday, 14-Nov-23 22:15:20 GMT", 120),
      ("Tue Nov 14 22:15:20 2023", 120), ("Tue, 14 Nov 2023 22:13:21 GMT", 5),
      ("Tue, 14 Nov 2023 22:00:00 GMT", 5), ("Thu, 14 Nov 2024 22:15:20 GMT", 86_400),
    ] as [(String?, Double)])
  func `endpoint can only delay the next attempt`(_ asked: String?, _ wait: Double) {
    let result = after(.init(status: 429, retryAfter: asked))
    #expect(result.nextAttemptAt == Self.now.adding(seconds: wait))
  }

  @Test(arguments: [
    (1, 5.0), (2, 300), (3, 1800), (4, 7200), (5, 18_000), (6, 36_000), (7, 50_400), (8, 72_000), (9, 86_400),
  ])
  func `retries follow the schedule`(_ made: Int, _ delay: Double) {
    let plain = after(.init(status: 500), attempts: made - 1)
    #expect(plain.state == .pending)
    #expect(plain.nextAttemptAt == Self.now.adding(seconds: delay))
    let spread = after(.init(status: 500), attempts: made - 1, jitter: 1)
    #expect(spread.nextAttemptAt == Self.now.adding(seconds: delay + delay * 0.1))
  }

  @Test(arguments: [nil, 302, 429, 500] as [Int?])
  func `last attempt ends the delivery`(_ status: Int?) {
    let result = after(.init(status: status, retryAfter: "10"), attempts: DeliverySchedule.delays.count - 1)
    #expect(result.state == .failed)
    #expect(result.attempts == DeliverySchedule.delays.count)
  }

  @Test func `unanswered message has ten attempts`() {
    var message = delivery()
    var attempts = 0
    while message.state == .pending, attempts < 100 {
      message = DeliverySchedule.nextDelivery(
        .init(status: nil), of: message, at: message.nextAttemptAt, jitter: 0)
      attempts += 1
    }
    #expect(attempts == 10)
    #expect(message.state == .failed)
    #expect(message.nextAttemptAt.since(message.createdAt) == DeliverySchedule.delays.reduce(0, +))
    #expect(message.payload == delivery().payload)
  }
}
