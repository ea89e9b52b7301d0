package import TransferModel

/// The body that a client streams for a task. A plain value.
package enum TaskUpload: Sendable {
  case none
  /// A client is ready to send, but the task has not requested the body yet.
  case ready(any BodyToken)
  case used(any BodyToken)

  /// The reason why a client cannot send the body of a task now.
  package enum Refusal: Error, Sendable {
    /// The task's body is not a stream.
    case noBodyStream
    /// The task has its body already, or no longer needs it.
    case notWanted
  }

  var token: (any BodyToken)? {
    switch self {
    case .none: nil
    case .ready(let token), .used(let token): token
    }
  }

  /// Marks the offered body as used, and returns it.
  mutating func claim() -> (any BodyToken)? {
    guard case .ready(let token) = self else { return nil }
    self = .used(token)
    return token
  }

  /// Removes a used body, because the whole body is needed again.
  mutating func removeUsed() -> (any BodyToken)? {
    guard case .used(let token) = self else { return nil }
    self = .none
    return token
  }

  /// Removes an offered body that will not be requested, so that its client need not wait.
  mutating func removeOffered() -> (any BodyToken)? {
    guard case .ready(let token) = self else { return nil }
    self = .none
    return token
  }

  /// Removes an offered body whose client left before any byte was read.
  /// - Returns: `false` if the task now has another client's body.
  mutating func withdraw(_ body: any BodyToken) -> Bool {
    guard case .ready(let token) = self, token === body else { return false }
    self = .none
    return true
  }
}
