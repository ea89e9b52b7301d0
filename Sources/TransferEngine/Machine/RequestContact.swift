/// How far a request has come on its connection, and whether it may go out there. Pure.
struct RequestContact {
  enum Verdict: Equatable {
    /// - Parameter beginsAgain: the first with a connection since the task waited for a network.
    case send(beginsAgain: Bool)
    /// Its body was not asked for yet.
    case waitForBody
    /// libcurl sends again what a kept connection took and did not answer; the origin may have acted on it (RFC 9110 §9.2.2).
    case refuseRepeat
  }

  /// The request was about to go out.
  private(set) var isConnected = false
  /// The request is on its way: what comes is the origin's, no more the proxy's answer to CONNECT.
  private(set) var isPastConnect = false
  /// It was about to go out a second time, which is not for everybody to do.
  private(set) var refusesRepeat = false
  /// It waited for a network: that it began again is told when it has a connection.
  private(set) var isTryingAgain = false
  /// The request has gone out, and nothing of an answer has come.
  private var isUnanswered = false

  /// It has a connection, and would go out now.
  mutating func meet(lacksBody: Bool, isIdempotent: Bool) -> Verdict {
    isConnected = true
    guard !lacksBody else { return .waitForBody }
    refusesRepeat = isUnanswered && !isIdempotent
    guard !refusesRepeat else { return .refuseRepeat }
    (isUnanswered, isPastConnect) = (true, true)
    defer { isTryingAgain = false }
    return .send(beginsAgain: isTryingAgain)
  }

  /// Something of an answer has come.
  mutating func hear() { isUnanswered = false }

  /// It goes to libcurl.
  mutating func begin() { isUnanswered = false }

  /// What has come counts for nothing: the answer is forgotten.
  mutating func forgetAnswer() { isPastConnect = false }

  /// Another request of the task.
  mutating func forgetConnection() { isConnected = false }

  mutating func waitForNetwork() { isTryingAgain = true }
}
