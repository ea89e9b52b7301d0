public import FoundationEssentials
internal import JSON

/// A message of a webhook.
public struct FerryWebhookMessage: Sendable {
  /// The part of a message that a delegate would receive as arguments.
  public enum Event: Sendable {
    /// A server or proxy asks for a credential.
    case challenge(FerryAuthenticationChallenge)
    /// The origin redirects to the request.
    case redirection(HTTPFerryResponse, FerryRequest)
    /// A data or upload task has received a response.
    case response(HTTPFerryResponse)
    /// The time of a task with an `earliestBeginDate` has come.
    case delayedRequest(FerryRequest)
    /// The cache may store a response.
    case caching(CachedFerryResponse)
    /// A task has ended, with an error or without. The response is `nil` if there was none.
    case completion(HTTPFerryResponse?, FerryError?)
    /// Any other message. `type` and `body` describe it.
    case other
  }

  /// The identifier. A message that is sent again has the same identifier.
  public let id: String
  /// The type, such as `task.didComplete`.
  public let type: String
  /// The time of the event.
  public let timestamp: Date
  /// The session, if the message concerns one.
  public let sessionID: String?
  /// The task, if the message concerns one.
  public let taskID: String?
  /// The decision that the reply answers, if the message asks for one.
  public let decisionID: String?
  /// The part that depends on the type.
  public let event: Event
  /// The whole message in JSON, as it was received.
  public let body: Data

  /// Reads a message; `nil` if the body is not a message.
  init?(id: String, body: Data) {
    guard let json = try? JSONParser.parse(Array(body)), let type = json["type"]?.string,
      let timestamp = json["timestamp"]?.date, let data = json["data"], data.isObject
    else { return nil }
    (self.id, self.type, self.timestamp, self.body) = (id, type, timestamp, body)
    sessionID = data["sessionId"]?.string
    taskID = data["taskId"]?.string
    decisionID = data["decisionId"]?.string
    event =
      switch TaskEvent(type, data) {
      case .challenge(let challenge, _, _): .challenge(challenge)
      case .redirect(let response, let request, _): .redirection(response, request)
      case .response(let response, _): .response(response)
      case .delayed(let request, _): .delayedRequest(request)
      case .willCache(let response, _, _): .caching(response)
      case .completed(let error, _):
        .completion(
          data["task"]?["response"]?.present.map { HTTPFerryResponse($0) }, error)
      default: .other
      }
  }
}
