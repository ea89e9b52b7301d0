package import TransferModel

/// What a client sends for a task that streams its body. A plain value.
package enum TaskUpload: Sendable {
  case none
  /// The client is ready; the task has not asked yet.
  case ready(any BodyToken)
  case used(any BodyToken)

  /// Why a client cannot send the body of a task now.
  package enum Refusal: Error, Sendable {
    /// The task's body is not a stream.
    case noBodyStream
    /// The task has its body, or does not want one any more.
    case notWanted
  }

  var token: (any BodyToken)? {
    switch self {
    case .none: nil
    case .ready(let token), .used(let token): token
    }
  }

  /// The task asks for it: what a client is ready to send, from here on in use.
  mutating func use() -> (any BodyToken)? {
    guard case .ready(let token) = self else { return nil }
    self = .used(token)
    return token
  }

  /// What is left of the last one is of no use: the whole is needed again.
  mutating func dropUsed() -> (any BodyToken)? {
    guard case .used(let token) = self else { return nil }
    self = .none
    return token
  }

  /// Nobody asks any more for the body that a client is ready to send: it must not wait for that.
  mutating func dropReady() -> (any BodyToken)? {
    guard case .ready(let token) = self else { return nil }
    self = .none
    return token
  }

  /// The client left before anything of the body was wanted. False where it is another's.
  mutating func withdraw(_ body: any BodyToken) -> Bool {
    guard case .ready(let token) = self, token === body else { return false }
    self = .none
    return true
  }
}
