internal import HTTPCache
internal import TransferModel

/// What follows when the wire is done with a request, or takes too long.
extension TransferMachine {
  /// libcurl is done with a request.
  /// - Parameters:
  ///   - error: how it ended.
  ///   - status: of the answer, where there is one.
  ///   - hasResponse: the task was shown an answer.
  ///   - lacksNetwork: it failed for want of a network, and the task would rather wait.
  mutating func wireEnded(
    _ error: TransferError?, status: Int?, hasResponse: Bool, lacksNetwork: Bool,
    at now: @autoclosure () -> Timestamp
  ) -> TransferAction {
    // A request that the answer led to comes first.
    if let next = course.next { return .sendNext(next) }
    if lacksNetwork { return .waitForNetwork }
    switch cache?.source(status: status, error: error, hasResponse: hasResponse, at: now()) {
    case .stored(let answer): return .serveInstead(answer)
    case .both(let candidate): return .join(candidate, error: error)
    case .origin, nil: break
    }
    guard course.hold != nil else { return .settle(error) }
    // Still held: the slot goes to another transfer meanwhile.
    course.endWire(error)
    course.park()
    return .leaveQueue
  }

  /// The next action if an unneeded answer takes too long to end.
  var cut: TransferAction {
    if let stored = cache?.answer { return .serveInstead(stored) }
    return course.next.map { .sendNext($0) } ?? .wait
  }

  /// What answers, though stale, where the origin takes too long (RFC 5861 §4); nil: the task ends.
  /// - Parameter hasResponse: the task was shown an answer.
  func answerOnTimeout(hasResponse: Bool, at now: @autoclosure () -> Timestamp) -> CachedResponse? {
    guard course.state.isOnWire, !hasResponse, course.next == nil, let cache else { return nil }
    return cache.answer ?? cache.answerOnError(status: nil, at: now())
  }
}
