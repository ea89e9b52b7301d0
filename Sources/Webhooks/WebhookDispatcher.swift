package import Addresses
internal import Limits
internal import Crypto
package import Curl
package import EventLoop
internal import JSON
package import Logging
package import TransferModel
package import TransferService

/// Delivers the outbox: reads due deliveries, posts them and records the results. Each message is sent at least once, always
/// under the same id.
package actor WebhookDispatcher {
  private static let maximumInFlight = Limits.webhookAttempts.value

  private let service: TransferService
  private let sender: WebhookSender
  private let defaultKey: SymmetricKey
  private let logger: Logger
  private let now: @Sendable () -> Timestamp
  private var inFlight: Set<DeliveryID> = []
  /// Deliveries that ended while the outbox was being read. The page may still contain them as pending.
  private var endedDuringRead: Set<DeliveryID> = []
  private let wakeups: AsyncStream<Void>
  private let wakeup: AsyncStream<Void>.Continuation
  private let timer: ResettableTimer

  /// - Parameter defaultSecret: signs the messages of webhooks that have no secret of their own.
  package init(
    service: TransferService, egress: EgressPolicy, authorities: CertificateAuthorities,
    defaultSecret: [UInt8],
    now: @escaping @Sendable () -> Timestamp, logger: Logger
  ) {
    self.service = service
    self.now = now
    self.logger = logger
    sender = WebhookSender(egress: egress, authorities: authorities)
    defaultKey = SymmetricKey(data: defaultSecret)
    let (wakeups, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.wakeups, self.wakeup) = (wakeups, wakeup)
    timer = ResettableTimer { wakeup.yield() }
  }

  /// The liveness of the sender's loop.
  package nonisolated var livenessComponent: LivenessProbe.Component { sender.livenessComponent }

  /// Delivers until the task is cancelled.
  package func run() async {
    service.onOutboxChange { [wakeup] in wakeup.yield() }
    wakeup.yield()
    await withTaskCancellationHandler {
      for await _ in wakeups { await deliverDue() }
    } onCancel: { [wakeup] in
      wakeup.finish()
    }
    await sender.stop()
  }

  private func deliverDue() async {
    do {
      let room = Self.maximumInFlight - inFlight.count
      guard room > 0 else { return }  // The end of an attempt wakes the dispatcher again.
      endedDuringRead.removeAll(keepingCapacity: true)
      let due = try await service.dueDeliveries(limit: inFlight.count + room)
      for delivery in due
      where inFlight.count < Self.maximumInFlight && !endedDuringRead.contains(delivery.id) {
        if inFlight.insert(delivery.id).inserted { Task { await attempt(delivery) } }
      }
      if due.isEmpty { try await setAlarm() }
    } catch {
      logger.error("cannot read the outbox; trying again", metadata: ["error": "\(error)"])
      wake(after: .seconds(1))
    }
  }

  private func setAlarm() async throws {
    guard let time = try await service.nextDeliveryTime() else { return }
    wake(after: .milliseconds(max(1, Int64(time.since(now()) * 1000) + 1)))
  }

  private func wake(after delay: Duration) { timer.set(after: delay) }

  private func attempt(_ delivery: WebhookDelivery) async {
    await service.willAttempt(delivery)
    guard let answer = await send(delivery) else { return }  // The sender stops. The next process retries.
    let after = DeliverySchedule.nextDelivery(answer, of: delivery, at: now(), jitter: .random(in: 0...1))
    if after.state != .delivered { logFailure(after) }
    if after.state == .delivered, let decision = delivery.decisionID, !answer.body.isEmpty {
      await applyAnswer(answer.body, to: delivery, for: decision)
    }
    await withCheckedContinuation { continuation in
      service.recordAttempts([after]) { continuation.resume() }
    }
    inFlight.remove(delivery.id)
    endedDuringRead.insert(delivery.id)
    wakeup.yield()
  }

  /// - Returns: `nil` if the sender is stopping.
  private func send(_ delivery: WebhookDelivery) async -> DeliverySchedule.EndpointResponse? {
    guard let webhook = service.webhook(of: delivery) else {
      return DeliverySchedule.EndpointResponse(status: nil, error: "the webhook's session cannot be read")
    }
    let key = webhook.secret.flatMap(Webhook.key(of:)).map { SymmetricKey(data: $0) } ?? defaultKey
    let (id, timestamp) = (delivery.id.description, now().seconds)
    let signature = WebhookSignature.sign(id: id, timestamp: timestamp, payload: delivery.payload, key: key)
    return await sender.send(
      WebhookSender.Message(
        url: webhook.url,
        headers: ["webhook-id: \(id)", "webhook-timestamp: \(timestamp)", "webhook-signature: \(signature)"],
        body: delivery.payload, wantsReply: delivery.decisionID != nil))
  }

  /// Applies the response as the delegate's answer. If it is not a valid answer, the decision stays open.
  private func applyAnswer(_ reply: [UInt8], to delivery: WebhookDelivery, for decision: DecisionID) async {
    do {
      try await service.answer(to: delivery, with: JSONParser.parse(reply))
    } catch {
      logger.warning(
        "cannot use the reply of a webhook endpoint as an answer",
        metadata: ["decision": "\(decision)", "error": "\(error)"])
    }
  }

  private func logFailure(_ delivery: WebhookDelivery) {
    logger.warning(
      "webhook attempt failed",
      metadata: [
        "delivery": "\(delivery.id)", "attempt": "\(delivery.attempts)",
        "state": "\(delivery.state.rawValue)",
        "status": "\(delivery.lastStatus.map(String.init) ?? "none")", "error": "\(delivery.lastError ?? "")",
      ])
  }
}
