internal import DequeModule
internal import JSON
package import TransferModel
package import Webhooks

/// The messages that a process has sent and that the world has not answered yet. For one thread.
package final class SimulatedSender: MessageSender, @unchecked Sendable {
  package struct Post: Sendable {
    package let id: DeliveryID
    package let type: EventType?
    package let task: TaskID?
    package let decision: DecisionID?
    private let done: @Sendable (DeliverySchedule.EndpointResponse?) -> Void

    fileprivate init?(
      _ message: OutgoingMessage, _ done: @escaping @Sendable (DeliverySchedule.EndpointResponse?) -> Void
    ) {
      let prefix = "webhook-id: "
      guard let field = message.headers.first(where: { $0.hasPrefix(prefix) }),
        let id = DeliveryID(String(field.dropFirst(prefix.count))),
        let json = try? JSONParser.parse(message.body)
      else { return nil }
      self.id = id
      type = json["type"]?.string.flatMap { EventType(rawValue: $0) }
      task = json["data"]?["taskId"]?.string.flatMap { TaskID($0) }
      decision = message.wantsReply ? json["data"]?["decisionId"]?.string.flatMap { DecisionID($0) } : nil
      self.done = done
    }

    /// - Parameter body: the answer to the message's decision.
    package func respond(_ status: Int, _ body: String = "") {
      var response = DeliverySchedule.EndpointResponse(status: status)
      response.body = Array(body.utf8)
      done(response)
    }
  }

  private var posts = Deque<Post>()
  /// Called when a message is about to be sent.
  package var willSend: (@Sendable (DeliveryID) -> Void)?

  package init() {}

  package var isEmpty: Bool { posts.isEmpty }

  package func send(
    _ message: OutgoingMessage, _ done: @escaping @Sendable (DeliverySchedule.EndpointResponse?) -> Void
  ) {
    guard let post = Post(message, done) else { preconditionFailure("a message without id or JSON") }
    willSend?(post.id)
    posts.append(post)
  }

  package func afterResponses(_ work: @escaping @Sendable () -> Void) { work() }

  /// Removes one of the posts.
  package func take(_ place: Int) -> Post { posts.remove(at: place) }
  package var count: Int { posts.count }

  /// Drops all posts, because the process is dead.
  package func close() { posts.removeAll() }
}
