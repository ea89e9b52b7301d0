internal import JSON
internal import TransferCore
internal import TransferModel

extension WebhookDelivery {
  /// Encodes a message as Standard Webhooks prescribe: `type`, `timestamp`, `data`.
  init(_ message: WebhookMessage, of session: SessionID) {
    var writer = JSONWriter(capacity: 1024)
    let type: EventType
    let task: TaskID?
    switch message.content {
    case .event(let event, let told):
      (type, task) = (event.type, event.taskID)
      Self.encode(event, told, into: &writer)
    case .wakeUp(let identifier):
      (type, task) = (.sessionHandleEvents, nil)
      writer.object { writer in
        writer.field("type", type.rawValue)
        writer.field("timestamp", message.createdAt)
        writer.objectField("data") { writer in
          writer.field("sessionId", session)
          writer.nullField("taskId")
          writer.field("identifier", identifier)
        }
      }
    }
    self.init(
      id: message.id, sessionID: session, taskID: task, type: type, webhook: message.webhook,
      payload: writer.bytes, createdAt: message.createdAt, decisionID: message.decision)
  }

  /// Encodes an event. The message of a task's end includes the task.
  private static func encode(_ event: TransferEvent, _ task: TransferTask?, into writer: inout JSONWriter) {
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
  }
}
