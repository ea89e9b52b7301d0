internal import Limits

/// How far a request has come on its connection, and whether it goes out again where it was lost. Pure.
struct RequestContact {
  enum Verdict: Equatable {
    /// - Parameter beginsAgain: the first with a connection since the task waited for a network.
    case send(beginsAgain: Bool)
    /// Its body was not asked for yet.
    case waitForBody
    /// libcurl sends again what a kept connection took and did not answer; the origin may have acted on it (RFC 9110 §9.2.2), or the
    /// body is gone.
    case refuseRepeat
  }

  /// How a request ended before anything of an answer came.
  struct Loss {
    var isIdempotent: Bool
    /// The server says that it has not processed the request (RFC 9113 §8.7).
    var isUnprocessed = false
    /// The connection had served others, and the server may have closed it before the request came.
    var wasKept = false
  }

  /// How often a request is sent again.
  static let maximumRepeats = Limits.repeats.value

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
  private var repeats = 0

  /// It has a connection, and would go out now.
  /// - Parameters:
  ///   - isUnprocessed: the server has not processed it where it went before.
  ///   - hasBody: the body can be read from its beginning; asked where it goes out again.
  mutating func meet(
    lacksBody: Bool, isIdempotent: Bool, isUnprocessed: Bool = false, hasBody: @autoclosure () -> Bool = true
  ) -> Verdict {
    isConnected = true
    guard !lacksBody else { return .waitForBody }
    if isUnanswered {
      refusesRepeat = repeats >= Self.maximumRepeats || !(isIdempotent || isUnprocessed) || !hasBody()
      guard !refusesRepeat else { return .refuseRepeat }
      repeats += 1
    }
    (isUnanswered, isPastConnect) = (true, true)
    defer { isTryingAgain = false }
    return .send(beginsAgain: isTryingAgain)
  }

  /// libcurl gives it up. True where it goes out again.
  mutating func lose(_ loss: Loss) -> Bool {
    guard isUnanswered else { return false }
    let isHarmless = loss.isUnprocessed || loss.wasKept && loss.isIdempotent
    refusesRepeat = !isHarmless || repeats >= Self.maximumRepeats
    guard !refusesRepeat else { return false }
    repeats += 1
    return true
  }

  /// Something of an answer has come.
  mutating func hear() { isUnanswered = false }

  /// It goes to libcurl.
  mutating func begin() { (isUnanswered, refusesRepeat) = (false, false) }

  /// What has come counts for nothing: the answer is forgotten.
  mutating func forgetAnswer() { isPastConnect = false }

  /// Another request of the task.
  mutating func forgetConnection() { isConnected = false }

  mutating func waitForNetwork() { isTryingAgain = true }
}
