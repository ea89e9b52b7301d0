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
  ) -> WireVerdict {
    let verdict = WireVerdict(
      next: course.next, lacksNetwork: lacksNetwork,
      source: cache?.source(status: status, error: error, hasResponse: hasResponse, at: now()) ?? .origin,
      isHeld: course.hold != nil)
    if verdict == .hold {
      course.endWire(error)
      course.park()
    }
    return verdict
  }

  /// What is done with an answer whose end nobody waits for any more.
  enum CutVerdict: Equatable {
    case nothing
    /// Something stored answers.
    case answer(CachedResponse)
    case send(TransferRequest)
  }

  /// The rest of an answer that nobody wants takes too long.
  var cut: CutVerdict {
    if let stored = cache?.answer { return .answer(stored) }
    return course.next.map { .send($0) } ?? .nothing
  }

  /// What answers, though stale, where the origin takes too long (RFC 5861 §4); nil: the task ends.
  /// - Parameter hasResponse: the task was shown an answer.
  func answerOnTimeout(hasResponse: Bool, at now: @autoclosure () -> Timestamp) -> CachedResponse? {
    guard course.state.isOnWire, !hasResponse, course.next == nil, let cache else { return nil }
    return cache.answer ?? cache.answerOnError(status: nil, at: now())
  }
}
