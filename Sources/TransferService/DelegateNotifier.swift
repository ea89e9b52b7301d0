internal import JSON
internal import TransferCore
internal import TransferModel

/// Which webhooks hear of an event, and the message they get.
struct DelegateNotifier: Sendable {
  let identifiers: IdentifierSource

  /// The deliveries that `event` of `task` causes: the completion webhook's for the end, else the delegate's.
  func deliveries(for event: TransferEvent, task: TransferTask?, session: TransferSession)
    -> [WebhookDelivery]
  {
    let addressees = Addressee.list(of: event, task: task, session: session)
    guard !addressees.isEmpty else { return [] }
    let payload = Self.payload(event, task)
    return addressees.map { webhook, answers in
      WebhookDelivery(
        id: identifiers.make(), sessionID: session.id, taskID: event.taskID, type: event.type,
        webhook: webhook, payload: payload, createdAt: event.time,
        decisionID: answers ? event.decision?.id : nil)
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
