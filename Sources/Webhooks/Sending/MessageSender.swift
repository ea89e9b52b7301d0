/// Sends messages, each once. The dispatcher decides about repetitions.
package protocol MessageSender: Sendable {
  /// Posts a message.
  /// - Parameter done: called once, with the destination's response, or with `nil` if the sender is stopping.
  func send(
    _ message: OutgoingMessage, _ done: @escaping @Sendable (DeliverySchedule.EndpointResponse?) -> Void)

  /// Calls `work` soon, after other responses that have already arrived. Their results then share a commit.
  func afterResponses(_ work: @escaping @Sendable () -> Void)
}

/// One POST.
package struct OutgoingMessage: Sendable {
  package let url: String
  /// Whole lines, in the order in which they are sent.
  package let headers: [String]
  package let body: [UInt8]
  /// Whether the whole body of the response is kept, because it answers a decision.
  package let wantsReply: Bool
}
