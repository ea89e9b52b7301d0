internal import EventLoop
internal import HTTPFields
internal import Ledger
package import Logging
internal import Synchronization
internal import TransferCore
internal import TransferModel
package import TransferService

/// Delivers the outbox: carries out the decisions of `DeliveryQueue`, posts messages and records the results. Each message is sent at
/// least once, always under the same id.
package final class WebhookDispatcher: Sendable {
  private struct State {
    var queue: DeliveryQueue
    var actions = SerialDrain<DeliveryQueue.Action>()
    /// Results that wait to be recorded together.
    var results: [WebhookDelivery] = []
    var wakesAt: ContinuousClock.Instant?
    var isStopped = false
  }
  /// The pause before a read is repeated that has failed.
  private static let pauseAfterError = Duration.seconds(1)

  private let service: TransferService
  private let sender: any MessageSender
  private let schedule: DeliverySchedule
  private let defaultKey: SigningKey
  private let clocks: DispatcherClocks
  private let logger: Logger
  private let state: Mutex<State>

  /// - Parameter defaultSecret: signs the messages of webhooks that have no secret of their own.
  package init(
    service: TransferService, sender: any MessageSender, schedule: DeliverySchedule = .standard,
    defaultSecret: [UInt8], clocks: DispatcherClocks, logger: Logger
  ) {
    self.service = service
    self.sender = sender
    self.schedule = schedule
    self.clocks = clocks
    self.logger = logger
    defaultKey = SigningKey(.v1, defaultSecret)
    state = Mutex(State(queue: DeliveryQueue(at: clocks.present)))
  }

  /// Begins to deliver.
  package func start() {
    service.onNewDeliveries { [weak self] deliveries in self?.update { $0.add(deliveries, at: $1) } }
    service.onOutboxChange { [weak self] change in
      self?.update { queue, now in
        switch change {
        case .shardsArrive: queue.prepareForShards()
        case .shardsArrived: queue.addShards()
        case .redelivered(let delivery): queue.redeliver(delivery, at: now)
        case .arrived(let destinations): queue.reload(destinations)
        case .isUnknown: queue.rescan(includesFutureAttempts: false)
        }
      }
    }
    service.onEndpointChange { [weak self] in self?.readPolicies() }
    readPolicies()
  }

  /// Stops beginning attempts. The next process continues.
  package func stop() { state.withLock { $0.isStopped = true } }

  /// The number of messages in memory.
  package var heldCount: Int { state.withLock { $0.queue.heldCount } }

  private func readPolicies() {
    // Read inside the lock, so that a later call never applies an earlier state.
    update { queue, _ in
      let policies = service.webhookEndpoints.map { endpoint in
        var policy = DeliveryQueue.Policy()
        policy.maximumConcurrency = endpoint.settings.maximumConcurrency
        policy.maximumPerSecond = endpoint.settings.maximumPerSecond
        policy.isEnabled = endpoint.isEnabled || InjectedFault.sendsToDisabledEndpoints.isPresent
        return (PendingDestination(endpoint.destination, of: endpoint.tenant), policy)
      }
      queue.replacePolicies(Dictionary(policies, uniquingKeysWith: { $1 }))
    }
  }

  // MARK: Actions

  /// Changes the queue, then carries out what follows, one thread at a time.
  private func update(_ body: (inout DeliveryQueue, DeliveryQueue.Now) -> Void) {
    let now = clocks.present
    let mustCarryOut = state.withLock { state in
      guard !state.isStopped else { return false }
      body(&state.queue, now)
      let (actions, wakeAt) = state.queue.next(at: now)
      state.actions.elements += actions
      setTimer(wakeAt, &state)
      return !actions.isEmpty && state.actions.beginDraining()
    }
    if mustCarryOut { carryOut() }
  }

  private func setTimer(_ time: ContinuousClock.Instant?, _ state: inout State) {
    guard let time, state.wakesAt.map({ time < $0 }) ?? true else { return }
    state.wakesAt = time
    clocks.timers.call(time) { [weak self] in self?.wake(at: time) }
  }

  /// Called by a timer. An earlier timer replaces a later one, which then does nothing.
  private func wake(at time: ContinuousClock.Instant) {
    let isCurrent = state.withLock { state in
      guard state.wakesAt == time else { return false }
      state.wakesAt = nil
      return true
    }
    if isCurrent { update { _, _ in } }
  }

  private func carryOut() {
    while true {
      let actions = state.withLock { $0.actions.dequeueAll() }
      if actions.isEmpty { return }
      for action in actions { carryOut(action) }
    }
  }

  private func carryOut(_ action: DeliveryQueue.Action) {
    switch action {
    case .attempt(let delivery): attempt(delivery)
    case .load(let request): clocks.spawn { [self] in await load(request) }
    case .scan(let place): clocks.spawn { [self] in await scan(after: place) }
    }
  }

  // MARK: Reading

  private func load(_ request: DeliveryQueue.DueDeliveryRequest) async {
    do throws(ServiceError) {
      let page = try await service.dueDeliveries(
        DueDeliveryQuery(
          to: request.destination, at: clocks.now(), limit: request.limit, excluding: request.excluded,
          includingFutureAttempts: request.includesFutureAttempts))
      update { queue, _ in
        queue.loaded(
          .init(page.deliveries, isLast: page.isLast, nextAttemptAt: page.nextAttemptAt),
          for: request.destination)
      }
    } catch {
      retry(after: error) { queue in queue.loaded(nil, for: request.destination) }
    }
  }

  private func scan(after place: DestinationID?) async {
    let limit = DeliveryQueue.destinationsPerScan
    do throws(ServiceError) {
      let page = try await service.pendingDestinations(after: place, limit: limit)
      update { queue, _ in queue.scanned(page, limit: limit) }
    } catch {
      retry(after: error) { queue in queue.scanFailed() }
    }
  }

  private func retry(after error: ServiceError, _ body: @escaping @Sendable (inout DeliveryQueue) -> Void) {
    logger.error("cannot read webhook messages; trying again", metadata: ["error": "\(error)"])
    clocks.timers.call(clocks.present.uptime + Self.pauseAfterError) { [weak self] in
      self?.update { queue, _ in body(&queue) }
    }
  }

  // MARK: Attempts

  private func attempt(_ delivery: WebhookDelivery) {
    switch service.preparation(of: delivery) {
    case .elsewhere: update { queue, _ in queue.released(delivery) }
    case .disabled: update { queue, _ in queue.released(delivery, isSentHere: true) }
    case .refused(let reason):
      conclude(service.ended(delivery, because: reason), succeeded: nil)
    case .send(let target):
      guard delivery.type == .sessionHandleEvents else { return send(delivery, to: target) }
      clocks.spawn { [self] in
        await service.willAttempt(delivery)
        send(delivery, to: target)
      }
    }
  }

  private func send(_ delivery: WebhookDelivery, to target: DeliveryTarget) {
    let start = clocks.now()
    let (id, timestamp) = (delivery.id.description, start.seconds)
    let keys = target.keys.isEmpty ? [defaultKey] : target.keys
    let signature = WebhookSignature.sign(
      id: id, timestamp: timestamp, payload: delivery.payload, keys: keys)
    let own = ["webhook-id: \(id)", "webhook-timestamp: \(timestamp)", "webhook-signature: \(signature)"]
    let message = OutgoingMessage(
      url: target.url, headers: own + target.headers.fields.map { "\($0.name): \($0.value)" },
      body: delivery.payload, wantsReply: target.wantsAnswer)
    sender.send(message) { [self] response in
      // The sender stops. The next process sends the message again.
      guard let response else { return }
      responded(response, to: delivery, from: start)
    }
  }

  private func responded(
    _ response: DeliverySchedule.EndpointResponse, to delivery: WebhookDelivery, from start: Timestamp
  ) {
    let end = clocks.now()
    let result = schedule.delivery(delivery, after: response, from: start, to: end, jitter: clocks.jitter())
    let after = response.isSuccess ? result : redelivered(result, at: end) ?? result
    if !response.isSuccess { log(after) }
    if let endpoint = delivery.endpointID {
      service.noteAttempt(to: endpoint, succeeded: response.isSuccess, isGone: response.isGone, at: end)
    }
    if response.isSuccess, delivery.decisionID != nil, !response.body.isEmpty {
      clocks.spawn { [self] in
        guard await service.apply(response.body, of: delivery) else {
          let full = DeliverySchedule.EndpointResponse(
            status: nil,
            error: "the database could not store the delegate's answer; the message is sent again")
          return responded(full, to: delivery, from: start)
        }
        conclude(after, succeeded: true)
      }
    } else if response.isGone, delivery.endpointID == nil {
      clocks.spawn { [self] in
        // If they cannot be read, each gets an attempt.
        for other in (try? await service.abandoned(after: delivery)) ?? [] { conclude(other, succeeded: nil) }
        conclude(after, succeeded: false)
      }
    } else {
      conclude(after, succeeded: response.isSuccess, isGone: response.isGone)
    }
  }

  /// Records a result together with others that arrive at the same time.
  /// - Parameter succeeded: `nil` if no request was made.
  private func conclude(_ delivery: WebhookDelivery, succeeded: Bool?, isGone: Bool = false) {
    let isFirst = state.withLock { state in
      state.results.append(delivery)
      return state.results.count == 1
    }
    update { queue, now in queue.ended(delivery.id, succeeded: succeeded, isGone: isGone, at: now) }
    if isFirst { sender.afterResponses { [self] in recordResults() } }
  }

  /// A client may have asked for a message again while it was being sent.
  /// - Returns: the delivery if it is to be sent again.
  private func redelivered(_ delivery: WebhookDelivery, at time: Timestamp) -> WebhookDelivery? {
    guard state.withLock({ $0.queue.takeRedelivery(of: delivery.id) }) else { return nil }
    var again = delivery
    again.redeliver(at: time)
    return again
  }

  private func recordResults() {
    let results = state.withLock { state in
      defer { state.results = [] }
      return state.results
    }
    guard !results.isEmpty else { return }
    record(results)
  }

  private func record(_ results: [WebhookDelivery]) {
    service.recordAttempts(results) { [self] deliveries, areWritten in
      guard areWritten else {
        return update { queue, _ in for delivery in deliveries { queue.released(delivery) } }
      }
      var (done, again): ([WebhookDelivery], [WebhookDelivery]) = ([], [])
      for delivery in deliveries {
        // The result may have overwritten the client's request.
        if let next = redelivered(delivery, at: clocks.now()), delivery.state != .delivered {
          again.append(next)
        } else {
          done.append(delivery)
        }
      }
      update { [done] queue, _ in queue.recorded(done) }
      if !again.isEmpty { record(again) }
    }
  }

  private func log(_ delivery: WebhookDelivery) {
    let attempt = delivery.attempts.last
    var metadata: Logger.Metadata = [
      "delivery": "\(delivery.id)", "session": "\(delivery.sessionID)", "type": "\(delivery.type.rawValue)",
      "attempt": "\(delivery.attemptCount)",
      "state": "\(delivery.state.rawValue)",
      "reason": "\(attempt?.error ?? attempt?.status.map { "status \($0)" } ?? "unknown")",
    ]
    if let task = delivery.taskID { metadata["task"] = "\(task)" }
    if let endpoint = delivery.endpointID { metadata["endpoint"] = "\(endpoint)" }
    logger.warning("webhook attempt failed", metadata: metadata)
  }
}
