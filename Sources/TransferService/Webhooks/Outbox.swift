internal import Cluster
internal import EventLoop
package import HTTPFields
internal import JSON
internal import Ledger
internal import TransferCore
package import TransferModel

/// The deliveries of webhook messages, as the webhook dispatcher uses them.
struct Outbox: Sendable {
  let runtime: SessionRuntime
  let decisions: Decisions
  let endpoints: Endpoints
  let now: @Sendable () -> Timestamp

  private var store: any Ledger { runtime.recorder.store }

  // MARK: Reading

  func pendingDestinations(after: DestinationID?, limit: Int) async throws(ServiceError)
    -> [PendingDestination]
  {
    do throws(LedgerError) { return try await store.pendingDestinations(after: after, limit: limit) } catch {
      throw .store(error)
    }
  }

  func due(_ query: DueDeliveryQuery) async throws(ServiceError) -> DueDeliveries {
    do throws(LedgerError) { return try await store.dueDeliveries(query) } catch { throw .store(error) }
  }

  /// Gives up the messages of disabled endpoints that were created by a time.
  func expire(by time: Timestamp) async throws(ServiceError) {
    for endpoint in endpoints.registry.all where !endpoint.isEnabled {
      let reason = "the endpoint was disabled for longer than --delivery-retention"
      try await giveUpMessages(to: endpoint.destination, createdBy: time, dueBy: now(), because: reason)
    }
  }

  /// Gives up the pending messages to a deleted endpoint.
  func giveUpMessages(toDeleted endpoint: WebhookEndpoint) async throws(ServiceError) {
    // No attempt is due later than this.
    let end = now().adding(seconds: Self.longestDelay)
    try await giveUpMessages(
      to: endpoint.destination, createdBy: end, dueBy: end, because: "the endpoint was deleted")
  }

  /// More than the longest time to the next attempt, in seconds.
  private static let longestDelay = 366 * 86_400.0

  private func giveUpMessages(
    to destination: DestinationID, createdBy time: Timestamp, dueBy end: Timestamp, because reason: String
  ) async throws(ServiceError) {
    while true {
      let query = DueDeliveryQuery(to: destination, at: end, limit: Self.expiredAtOnce)
      let old = try await due(query).deliveries.filter { $0.createdAt <= time }
      guard !old.isEmpty else { return }
      let left = Promise<Void>()
      let counter = CompletionCounter(from: old.count) { left.resume(returning: ()) }
      record(old.map { ended($0, because: reason) }) { deliveries, _ in
        for _ in deliveries { counter.count() }
      }
      await left.wait()
      // Without this, a ledger that refuses writes would be read again at once.
      guard store.refusal == nil, !Task.isCancelled else { return }
    }
  }

  /// Messages that one commit gives up.
  private static let expiredAtOnce = 500

  // MARK: Attempts

  /// Returns what an attempt needs, or why no request is made.
  func preparation(of delivery: WebhookDelivery) -> DeliveryPreparation {
    // A session that is arriving must be notified of its deliveries' end. The dispatcher looks again when the session is here.
    let session = runtime.session(delivery.sessionID)
    guard session != nil || runtime.cluster.holds(delivery.sessionID.shard) else { return .elsewhere }
    if let decision = delivery.decisionID, !isOpen(decision, of: delivery.taskID) {
      return .refused("the decision has ended, so the message was not sent")
    }
    var target = DeliveryTarget(url: "", wantsAnswer: delivery.decisionID != nil)
    if let id = delivery.endpointID {
      guard let endpoint = endpoints.registry.endpoint(id) else {
        return .refused("the endpoint was deleted")
      }
      guard endpoint.isEnabled || InjectedFault.sendsToDisabledEndpoints.isPresent else { return .disabled }
      target.url = endpoint.settings.url
      target.headers = endpoint.settings.headers
      target.keys = endpoint.signingKeys(at: now())
    } else {
      guard let webhook = delivery.webhook ?? session?.delegate?.webhook else {
        return .refused("the webhook's session was deleted, or cannot be read")
      }
      target.url = webhook.url
      target.keys = webhook.secret.flatMap(Webhook.key(of:)).map { [SigningKey(.v1, $0)] } ?? []
    }
    return .send(target)
  }

  private func isOpen(_ decision: DecisionID, of task: TaskID?) -> Bool {
    task.flatMap { runtime.task($0) }?.question?.decision == decision
  }

  /// Returns the URL of a delivery; `nil` if its session or endpoint was deleted.
  func url(of delivery: WebhookDelivery) -> String? {
    if let id = delivery.endpointID { return endpoints.registry.endpoint(id)?.settings.url }
    return (delivery.webhook ?? runtime.session(delivery.sessionID)?.delegate?.webhook)?.url
  }

  /// Notes that a delivery is about to be sent. Before `session.handleEvents` is sent, everything recorded so far is committed,
  /// because the message makes the client read the session's state.
  func willAttempt(_ delivery: WebhookDelivery) async {
    guard delivery.type == .sessionHandleEvents else { return }
    _ = await runtime.updateAndCommit(delivery.sessionID) { machine, step in
      machine.apply(.attempts(delivery.id), &step)
    }
  }

  /// Applies a response as the delegate's answer. An answer that cannot be applied makes the decision get its default.
  /// - Returns: `false` if the ledger cannot be written now.
  func apply(_ answer: [UInt8], of delivery: WebhookDelivery) async -> Bool {
    guard let id = delivery.decisionID, let task = delivery.taskID, !answer.isEmpty else { return true }
    let reason: String
    do {
      let value = try JSONParser.parse(answer)
      _ = try await decisions.answer(decisions.decision(id), with: value)
      return true
    } catch let error as InvalidFields {
      reason = error.violations.map { $0.pointer.isEmpty ? $0.detail : "\($0.pointer) \($0.detail)" }.joined(
        separator: "; ")
    } catch let error as JSONSyntaxError {
      reason = "the reply is not JSON: \(error)"
    } catch ServiceError.storeFull, ServiceError.storeUnavailable {
      return false
    } catch ServiceError.decisionSettled(let state) {
      reason = "the decision is \(state.rawValue)"
    } catch {
      reason = "the answer could not be applied"
    }
    _ = runtime.update(task: task) { _ = $0.apply(.rejectAnswer(task, id, reason: reason), &$1) }
    return true
  }

  /// Ends the pending messages of a task to a URL that refuses further ones, and returns them.
  func abandoned(after gone: WebhookDelivery) async throws(ServiceError) -> [WebhookDelivery] {
    guard gone.endpointID == nil, let task = gone.taskID else { return [] }
    var query = DeliveryQuery(of: gone.tenant, limit: Self.expiredAtOnce)
    (query.task, query.state) = (task, .pending)
    var found: [WebhookDelivery] = []
    while true {
      let page: [WebhookDelivery]
      do throws(LedgerError) { page = try await store.deliveries(query) } catch { throw .store(error) }
      for known in page where known.destination == gone.destination && known.id != gone.id {
        guard known.endpointID == nil else { continue }
        found.append(ended(known, because: "the webhook replied 410 Gone to an earlier message of the task"))
      }
      guard page.count == query.limit, let last = page.last else { return found }
      query.after = last.id
    }
  }

  /// Returns a delivery that is given up without a request.
  func ended(_ delivery: WebhookDelivery, because reason: String) -> WebhookDelivery {
    var delivery = delivery
    delivery.record(DeliveryAttempt(at: now(), error: reason))
    delivery.finish(.failed, at: now())
    return delivery
  }

  /// Records the results of attempts. The ledger writes them together.
  /// - Parameter settled: called once for each session, after the commit, or with `false` if another service owns the session now.
  func record(
    _ deliveries: [WebhookDelivery],
    settled: @escaping @Sendable (_ deliveries: [WebhookDelivery], _ areWritten: Bool) -> Void
  ) {
    for (session, deliveries) in Dictionary(grouping: deliveries, by: \.sessionID).sorted(by: {
      $0.key < $1.key
    }) {
      let ended = deliveries.filter { $0.state != .pending }.map(\.id)
      let found: Void? = runtime.update(session) { machine, step in
        step.attempts = deliveries
        if !ended.isEmpty { machine.apply(.settled(ended), &step) }
        step.onCommit.append { settled(deliveries, $0) }
      }
      guard found == nil else { continue }
      // The session cannot be read, or was deleted.
      var change = LedgerChange()
      change.updatedDeliveries = deliveries
      change.owner = session
      runtime.recorder.record(change) { settled(deliveries, $0) }
    }
  }
}

/// The needs of a delivery's attempt.
package enum DeliveryPreparation: Sendable {
  case send(DeliveryTarget)
  /// The message is given up without a request.
  case refused(String)
  /// Another service sends the message.
  case elsewhere
  /// The message waits until its endpoint is enabled.
  case disabled
}

/// The receiver of a message.
package struct DeliveryTarget: Sendable {
  package var url: String
  package var headers = HTTPHeaders()
  /// The keys that sign; empty for the service's own.
  package var keys: [SigningKey] = []
  /// Whether the response's body is the answer to a decision.
  package let wantsAnswer: Bool
}
