internal import JSON
internal import Ledger
internal import TransferCore
internal import TransferModel

extension WebhookDelivery {
  /// Encodes a message to the webhook of a session or a task.
  /// - Returns: `nil` if the session has no webhook any longer.
  init?(_ message: WebhookMessage, of session: TransferSession, in store: any Ledger) {
    guard let webhook = message.webhook ?? session.delegate?.webhook else { return nil }
    let (type, task): (EventType, TaskID?) =
      switch message.content {
      case .event(let event, _): (event.type, event.taskID)
      case .wakeUp: (.sessionHandleEvents, nil)
      }
    self.init(
      id: message.id, tenant: session.tenant, sessionID: session.id, taskID: task, type: type,
      destination: store.destination(of: webhook.url, for: session.tenant), webhook: message.webhook,
      payload: message.payload(of: session.id), createdAt: message.createdAt, order: webhook.order,
      decisionID: message.decision)
  }

  /// Makes the delivery of an event to an endpoint.
  init(_ event: TransferEvent, to endpoint: WebhookEndpoint, id: DeliveryID, payload: [UInt8]) {
    self.init(
      id: id, tenant: endpoint.tenant, sessionID: event.sessionID, taskID: event.taskID, type: event.type,
      destination: endpoint.destination, endpointID: endpoint.id, payload: payload, createdAt: event.time,
      order: endpoint.settings.order)
  }
}

extension WebhookMessage {
  fileprivate func payload(of session: SessionID) -> [UInt8] {
    switch content {
    case .event(let event, let task): return event.messagePayload(with: task)
    case .wakeUp(let identifier):
      var writer = JSONWriter(capacity: 256)
      writer.object { writer in
        writer.field("type", EventType.sessionHandleEvents.rawValue)
        writer.field("timestamp", createdAt)
        writer.objectField("data") { writer in
          writer.field("sessionId", session)
          writer.nullField("taskId")
          writer.field("identifier", identifier)
        }
      }
      return writer.bytes
    }
  }
}

extension TransferEvent {
  /// Encodes the event as Standard Webhooks prescribe: `type`, `timestamp`, `data`. The message of a task's end includes the task.
  func messagePayload(with task: TransferTask? = nil) -> [UInt8] {
    var writer = JSONWriter(capacity: 1024)
    writer.object { writer in
      writer.field("type", type.rawValue)
      writer.field("timestamp", time)
      writer.objectField("data") { writer in
        if type.isOfTenant { writer.nullField("sessionId") } else { writer.field("sessionId", sessionID) }
        writer.field("taskId", taskID)
        encodeDataMembers(into: &writer)
        if type == .taskDidComplete, let task { writer.field("task", Optional(task)) }
      }
    }
    return writer.bytes
  }

  /// The task of the event of its end.
  var endedTask: TransferTask? { if case .completed(let task) = payload { task } else { nil } }
}
