internal import JSON
internal import TransferModel

/// Which webhooks hear of an event, and the message they get.
struct DelegateNotifier: Sendable {
  let identifiers: IdentifierSource

  /// The deliveries that `event` of `task` causes: the completion webhook's for the end, else the delegate's.
  func deliveries(for event: TransferEvent, task: TransferTask?, session: TransferSession)
    -> [WebhookDelivery]
  {
    var webhooks: [Webhook] = []
    let isTaken = task?.hasCompletionHandler == true && event.type.isTakenByCompletion
    if let completion = task?.completion, event.type == .taskDidComplete { webhooks.append(completion) }
    var answering: Webhook?
    if let delegate = session.delegate(of: task), let webhook = delegate.webhook {
      // A call that the webhook is to answer reaches it whatever events it asked for.
      if event.decision != nil, delegate.webhookAnswers {
        answering = webhook
      } else if delegate.events.contains(event.type), !isTaken {
        webhooks.append(webhook)
      }
    }
    if let answering { webhooks.append(answering) }
    guard !webhooks.isEmpty else { return [] }
    let payload = Self.payload(event, task)
    return webhooks.map { webhook in
      WebhookDelivery(
        id: identifiers.make(), sessionID: session.id, taskID: event.taskID, type: event.type,
        webhook: webhook, payload: payload, createdAt: event.time,
        decisionID: answering == webhook ? event.decision?.id : nil)
    }
  }

  /// The message that tells a client to come and see.
  static func wakeUpPayload(_ session: TransferSession, at time: Timestamp) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("type", EventType.sessionHandleEvents.rawValue)
      writer.field("timestamp", time)
      writer.objectField("data") { writer in
        writer.field("sessionId", session.id)
        writer.nullField("taskId")
        writer.field("identifier", session.identifier)
      }
    }
    return writer.bytes
  }

  /// Standard Webhooks: `type`, `timestamp`, `data`. The end of a task brings the task along.
  static func payload(_ event: TransferEvent, _ task: TransferTask?) -> [UInt8] {
    var writer = JSONWriter(capacity: 1024)
    writer.object { writer in
      writer.field("type", event.type.rawValue)
      writer.field("timestamp", event.time)
      writer.objectField("data") { writer in
        writer.field("sessionId", event.sessionID)
        writer.field("taskId", event.taskID)
        event.encodeDataMembers(into: &writer)
        if event.type == .taskDidComplete, let task { writer.field("task", Optional(task)) }
      }
    }
    return writer.bytes
  }
}
