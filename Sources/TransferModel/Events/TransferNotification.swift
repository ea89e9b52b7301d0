package import HTTPFields
package import JSON

/// A delegate call about a transfer that needs no answer and does not change the task. To add such an event, add its `EventType`, a case
/// here, and the case's line in the stored table (`Records`).
package enum TransferNotification: Sendable {
  /// An informational response (RFC 9110 §15.2).
  case informational(status: Int, headers: HTTPHeaders)

  package var type: EventType {
    switch self {
    case .informational: .taskDidReceiveInformationalResponse
    }
  }

  /// Writes the arguments of the call as members of the event's `data`.
  package func encodeArguments(into writer: inout JSONWriter) {
    switch self {
    case .informational(let status, let headers):
      writer.field("status", status)
      writer.field("headers", Optional(headers))
    }
  }
}
