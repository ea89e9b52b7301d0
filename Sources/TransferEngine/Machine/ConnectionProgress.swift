internal import Limits

/// The progress of a request on its connection, and whether it may be repeated after a loss. Pure.
struct ConnectionProgress {
  enum SendPermission: Equatable {
    /// - Parameter beginsAgain: Whether this is the first connection since the task waited for a network.
    case send(beginsAgain: Bool)
    /// The request's body must be asked for first.
    case waitForBody
    /// libcurl would repeat a request that a kept connection accepted without a response. Ferry refuses, because the origin may have acted
    /// on the request (RFC 9110 §9.2.2), or because the body cannot be read again.
    case refuseRepeat
  }

  /// The loss of a request before any part of a response was received.
  struct ConnectionLoss {
    var isIdempotent: Bool
    /// Whether the server reported that it did not process the request (RFC 9113 §8.7).
    var isUnprocessed = false
    /// Whether the connection had served other requests, so that the server may have closed it before this request arrived.
    var wasKept = false
  }

  /// The maximum number of repeats of a request.
  static let maximumRepeats = Limits.repeats.value

  /// Whether the request has had a connection.
  private(set) var isConnected = false
  /// Whether the request was sent. Later heads are the origin's, not the proxy's response to CONNECT.
  private(set) var isPastConnect = false
  /// Whether a repeat of the request was refused.
  private(set) var refusesRepeat = false
  /// Whether the task waited for a network. Its new start is reported when it has a connection.
  private(set) var isRestartAfterWait = false
  /// Whether the request was sent and no part of a response was received.
  private var isUnanswered = false
  private var repeats = 0

  /// Handles a connection on which the request could be sent now.
  /// - Parameters:
  ///   - isUnprocessed: Whether the server reported that it did not process the request's last attempt.
  ///   - hasBody: Returns whether the body can be read from its beginning. Called only before a repeat.
  mutating func connected(
    lacksBody: Bool, isIdempotent: Bool, isUnprocessed: Bool = false, hasBody: @autoclosure () -> Bool = true
  ) -> SendPermission {
    isConnected = true
    guard !lacksBody else { return .waitForBody }
    if isUnanswered {
      refusesRepeat = repeats >= Self.maximumRepeats || !(isIdempotent || isUnprocessed) || !hasBody()
      guard !refusesRepeat else { return .refuseRepeat }
      repeats += 1
    }
    (isUnanswered, isPastConnect) = (true, true)
    defer { isRestartAfterWait = false }
    return .send(beginsAgain: isRestartAfterWait)
  }

  /// Handles a request that libcurl gives up. Returns whether to repeat the request.
  mutating func connectionLost(_ loss: ConnectionLoss) -> Bool {
    guard isUnanswered else { return false }
    let isHarmless = loss.isUnprocessed || loss.wasKept && loss.isIdempotent
    refusesRepeat = !isHarmless || repeats >= Self.maximumRepeats
    guard !refusesRepeat else { return false }
    repeats += 1
    return true
  }

  /// Records that a part of a response was received.
  mutating func receivedBytes() { isUnanswered = false }

  /// Records that the request is passed to libcurl.
  mutating func begin() { (isUnanswered, refusesRepeat) = (false, false) }

  /// Records that the received response is discarded.
  mutating func discardResponse() { isPastConnect = false }

  /// Records that another request of the task follows.
  mutating func forgetConnection() { isConnected = false }

  mutating func waitForNetwork() { isRestartAfterWait = true }
}
