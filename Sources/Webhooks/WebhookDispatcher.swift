package import Addresses
internal import Limits
internal import Crypto
package import Curl
package import EventLoop
internal import JSON
package import Logging
package import TransferModel
package import TransferService

/// Empties the outbox: takes what is due, posts it, writes down what came of it. At least once, under one id.
package actor WebhookDispatcher {
  private static let maximumInFlight = Limits.webhookAttempts.value

  private let service: TransferService
  private let sender: WebhookSender
  private let defaultKey: SymmetricKey
  private let logger: Logger
  private let now: @Sendable () -> Timestamp
  private var inFlight: Set<DeliveryID> = []
  /// What was settled while the outbox was being read: the page may still show it as pending.
  private var settledMeanwhile: Set<DeliveryID> = []
  private let doorbell: AsyncStream<Void>
  private let bell: AsyncStream<Void>.Continuation
  private let alarm: Alarm

  /// - Parameter defaultSecret: signs the messages of webhooks that have no secret of their own.
  package init(
    service: TransferService, egress: EgressPolicy, authorities: TLSAuthorities, defaultSecret: [UInt8],
    now: @escaping @Sendable () -> Timestamp, logger: Logger
  ) {
    self.service = service
    self.now = now
    self.logger = logger
    sender = WebhookSender(egress: egress, authorities: authorities)
    defaultKey = SymmetricKey(data: defaultSecret)
    let (doorbell, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.doorbell, self.bell) = (doorbell, bell)
    alarm = Alarm { bell.yield() }
  }

  /// The sender's loop.
  package nonisolated var pulse: Pulse.Part { sender.pulse }

  /// Delivers until cancelled.
  package func run() async {
    service.onOutboxNews { [bell] in bell.yield() }
    bell.yield()
    await withTaskCancellationHandler {
      for await _ in doorbell { await deliverDue() }
    } onCancel: { [bell] in
      bell.finish()
    }
    await sender.stop()
  }

  private func deliverDue() async {
    do {
      let room = Self.maximumInFlight - inFlight.count
      guard room > 0 else { return }  // an attempt that ends rings again
      settledMeanwhile.removeAll(keepingCapacity: true)
      let due = try await service.dueDeliveries(limit: inFlight.count + room)
      for delivery in due
      where inFlight.count < Self.maximumInFlight && !settledMeanwhile.contains(delivery.id) {
        if inFlight.insert(delivery.id).inserted { Task { await attempt(delivery) } }
      }
      if due.isEmpty { try await setAlarm() }
    } catch {
      logger.error("the outbox cannot be read", metadata: ["error": "\(error)"])
      ring(after: .seconds(1))
    }
  }

  private func setAlarm() async throws {
    guard let time = try await service.nextDeliveryTime() else { return }
    ring(after: .milliseconds(max(1, Int64(time.since(now()) * 1000) + 1)))
  }

  private func ring(after delay: Duration) { alarm.set(after: delay) }

  private func attempt(_ delivery: WebhookDelivery) async {
    await service.willAttempt(delivery)
    guard let answer = await send(delivery) else { return }  // stopping: the next process tries again
    let after = DeliverySchedule.after(answer, of: delivery, at: now(), jitter: .random(in: 0...1))
    if after.state != .delivered { logFailure(after) }
    if after.state == .delivered, let decision = delivery.decisionID, !answer.body.isEmpty {
      await take(answer.body, to: delivery, for: decision)
    }
    await withCheckedContinuation { continuation in
      service.recordAttempts([after]) { continuation.resume() }
    }
    inFlight.remove(delivery.id)
    settledMeanwhile.insert(delivery.id)
    bell.yield()
  }

  /// Nil: the sender is stopping.
  private func send(_ delivery: WebhookDelivery) async -> DeliverySchedule.Answer? {
    guard let webhook = service.webhook(of: delivery) else {
      return DeliverySchedule.Answer(status: nil, error: "the webhook's session cannot be read")
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

  /// The endpoint's reply is the delegate's answer. One that is none leaves the decision open to others.
  private func take(_ reply: [UInt8], to delivery: WebhookDelivery, for decision: DecisionID) async {
    do {
      try await service.answer(to: delivery, with: JSONParser.parse(reply))
    } catch {
      logger.warning(
        "webhook's reply is no answer", metadata: ["decision": "\(decision)", "error": "\(error)"])
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
