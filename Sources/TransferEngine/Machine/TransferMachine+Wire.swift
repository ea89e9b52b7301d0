internal import HTTPCache
internal import TransferModel

/// The next action when libcurl is done with a request, or takes too long.
extension TransferMachine {
  /// Returns the next action after libcurl is done with a request.
  /// - Parameters:
  ///   - error: The error with which the request ended.
  ///   - status: The response's status; `nil` if there was no response.
  ///   - hasResponse: Whether the task was shown a response.
  ///   - lacksNetwork: Whether the request failed for lack of a network and the task waits for one.
  mutating func wireEnded(
    _ error: TransferError?, status: Int?, hasResponse: Bool, lacksNetwork: Bool,
    at now: @autoclosure () -> Timestamp
  ) -> TransferAction {
    // A request that the response led to comes first.
    if let next = lifecycle.next { return .sendNext(next) }
    if lacksNetwork { return .waitForNetwork }
    switch cache?.source(status: status, error: error, hasResponse: hasResponse, at: now()) {
    case .stored(let answer): return .serveInstead(answer)
    case .both(let candidate): return .join(candidate, error: error)
    case .origin, nil: break
    }
    guard lifecycle.waitReason != nil else { return .settle(error) }
    // The transfer waits without a slot.
    lifecycle.endWire(error)
    lifecycle.park()
    return .leaveQueue
  }

  /// The next action if an unneeded response takes too long to end.
  var cut: TransferAction {
    if let stored = cache?.answer { return .serveInstead(stored) }
    return lifecycle.next.map { .sendNext($0) } ?? .wait
  }

  /// Returns the stale response to serve if the origin takes too long (RFC 5861 §4); `nil` if the task must end.
  /// - Parameter hasResponse: Whether the task was shown a response.
  func answerOnTimeout(hasResponse: Bool, at now: @autoclosure () -> Timestamp) -> CachedResponse? {
    guard lifecycle.state.isOnWire, !hasResponse, lifecycle.next == nil, let cache else { return nil }
    return cache.answer ?? cache.answerOnError(status: nil, at: now())
  }
}
