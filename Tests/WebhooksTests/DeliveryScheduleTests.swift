import Testing
import TransferModel

@testable import Webhooks

@Suite struct DeliveryScheduleTests {
  private static let now = Timestamp(seconds: 1_700_000_000)

  private func delivery(attempts: Int = 0, endpoint: Bool = false, decision: Bool = false) -> WebhookDelivery
  {
    var delivery = WebhookDelivery(
      id: DeliveryID(high: 1, low: 2), tenant: .default, sessionID: .shared, type: .taskDidComplete,
      destination: DestinationID(high: 1, low: 1), endpointID: endpoint ? EndpointID(high: 1, low: 1) : nil,
      webhook: Webhook(url: "https://example.com/hook", secret: nil), payload: [1, 2, 3],
      createdAt: Timestamp(seconds: 1_600_000_000),
      decisionID: decision ? DecisionID(high: 1, low: 1) : nil)
    delivery.restore([], count: attempts)
    delivery.schedulePlace = attempts
    return delivery
  }

  private func after(
    _ answer: DeliverySchedule.EndpointResponse, attempts: Int = 0, jitter: Double = 0
  ) -> WebhookDelivery {
    after(answer, of: delivery(attempts: attempts), at: Self.now, jitter: jitter)
  }

  private func after(
    _ answer: DeliverySchedule.EndpointResponse, of delivery: WebhookDelivery, at time: Timestamp,
    jitter: Double = 0
  ) -> WebhookDelivery {
    DeliverySchedule.standard.delivery(
      delivery, after: answer, from: time.adding(seconds: -0.5), to: time, jitter: jitter)
  }

  @Test(arguments: [200, 201, 202, 204, 226, 299], [0, 9])
  func `2xx ends the delivery successfully`(_ status: Int, _ attempts: Int) {
    let result = after(.init(status: status), attempts: attempts)
    #expect(result.state == .delivered)
    #expect(result.attempts.last?.status == status)
    #expect(result.attempts.last?.latency == 0.5)
    #expect(result.attemptCount == attempts + 1)
  }

  @Test(arguments: [100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 404, 409, 411, 429, 500, 503, 599])
  func `other statuses are retried`(_ status: Int) {
    let result = after(.init(status: status))
    #expect(result.state == .pending)
    #expect(result.attempts.last?.status == status)
    #expect(result.nextAttemptAt == Self.now.adding(seconds: 5))
    #expect(result.lastAttemptAt == Self.now)
  }

  @Test(arguments: [0, 4, 9])
  func `410 ends the delivery at once`(_ attempts: Int) {
    let result = after(.init(status: 410, retryAfter: "60"), attempts: attempts)
    #expect(result.state == .failed)
    #expect(result.attemptCount == attempts + 1)
    #expect(result.nextAttemptAt == delivery().nextAttemptAt)
  }

  @Test func `missing response is retried and keeps its reason`() {
    let result = after(.init(status: nil, error: "no reply within 15 s"))
    #expect(result.state == .pending)
    #expect(result.attempts.last?.status == nil && result.attempts.last?.reply == nil)
    #expect(result.attempts.last?.error == "no reply within 15 s")
    let later = after(.init(status: 500), of: result, at: Self.now)
    #expect(later.attempts.map(\.status) == [nil, 500])
    #expect(later.attempts.map(\.error) == ["no reply within 15 s", nil])
  }

  @Test func `410 leaves the message of an endpoint pending`() {
    let result = after(.init(status: 410), of: delivery(attempts: 9, endpoint: true), at: Self.now)
    #expect(result.state == .pending && result.nextAttemptAt == Self.now && result.schedulePlace == 9)
  }

  @Test func `shown reply and kept attempts are limited`() {
    var response = DeliverySchedule.EndpointResponse(status: 500)
    response.body = [UInt8](repeating: 97, count: 5000)
    var message = delivery()
    for _ in 0..<30 { message = after(response, of: message, at: Self.now) }
    #expect(message.attempts.count == 20 && message.attemptCount == 30)
    #expect(message.attempts.allSatisfy { $0.reply?.utf8.count == 1024 })
  }

  /// An answer may have a password, and lists of deliveries show replies.
  @Test func `answer to a decision is not kept`() {
    var response = DeliverySchedule.EndpointResponse(status: 200)
    response.body = Array(#"{"disposition":"useCredential","credential":{"password":"p"}}"#.utf8)
    let kept = after(response, of: delivery(), at: Self.now)
    #expect(kept.attempts.last?.reply?.contains("password") == true)
    let answer = after(response, of: delivery(decision: true), at: Self.now)
    #expect(answer.attempts.last?.status == 200 && answer.attempts.last?.reply == nil)
  }

  /// The schedule runs from the creation, also while a message waits for an earlier one.
  @Test(arguments: [(0.0, 1), (4, 1), (5, 2), (304, 2), (306, 3), (1_000_000, 10)])
  func `waiting for an earlier message uses up the schedule`(_ age: Double, _ place: Int) {
    var message = delivery()
    message.place = .promoted
    let time = message.createdAt.adding(seconds: age + 0.5)
    let result = after(.init(status: 500), of: message, at: time)
    #expect(result.schedulePlace == place)
    #expect(result.state == (place == 10 ? .failed : .pending))
    // The second attempt follows the schedule from there.
    if place < 9 { #expect(after(.init(status: 500), of: result, at: time).schedulePlace == place + 1) }
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
    let result = after(.init(status: status, retryAfter: "10"), attempts: 9)
    #expect(result.state == .failed)
    #expect(result.attemptCount == 10)
  }

  @Test func `unanswered message has ten attempts`() {
    var message = delivery()
    var attempts = 0
    while message.state == .pending, attempts < 100 {
      message = after(.init(status: nil), of: message, at: message.nextAttemptAt)
      attempts += 1
    }
    #expect(attempts == 10)
    #expect(message.state == .failed)
    #expect(message.nextAttemptAt.since(message.createdAt) == WebhookDelivery.standardDelays.reduce(0, +))
    #expect(message.payload == delivery().payload)
  }
}
