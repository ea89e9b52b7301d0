package import TransferModel

/// The reason why the request of a task cannot change now.
package enum RequestChangeRefusal: Error, Sendable, Equatable {
  /// The task has ended or is being cancelled, or its request is on its way.
  case state(TaskState, TaskPhase?)
  /// The client has received the response of the present request.
  case responded
  /// The request was sent, and its method is not idempotent, so it is not sent again.
  case sent(method: String)
  /// The transfer has asked for the request's body, which is a stream and cannot be sent again.
  case streaming
}
