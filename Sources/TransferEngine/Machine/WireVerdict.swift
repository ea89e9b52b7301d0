internal import HTTPCache
internal import TransferModel

/// What a task does once the wire is done with one of its requests. Pure.
enum WireVerdict: Equatable {
  /// Its next request goes out.
  case sendNext(TransferRequest)
  /// It tries again when there is a network.
  case waitForNetwork
  /// Something stored answers.
  case serve(CachedResponse)
  /// What was stored and what came are put together.
  case join(CachedResponse)
  /// The delegate has not decided yet: the slot goes to others meanwhile.
  case hold
  case settle

  /// - Parameters:
  ///   - next: what is to be sent now, by what the answer said.
  ///   - lacksNetwork: it failed for want of a network, and the task would rather wait.
  ///   - source: what the cache says; asked where the request is the last.
  ///   - isHeld: a question is open.
  init(
    next: TransferRequest?, lacksNetwork: @autoclosure () -> Bool, source: @autoclosure () -> CacheUse.Source,
    isHeld: Bool
  ) {
    if let next {
      self = .sendNext(next)
    } else if lacksNetwork() {
      self = .waitForNetwork
    } else {
      switch source() {
      case .stored(let answer): self = .serve(answer)
      case .both(let candidate): self = .join(candidate)
      case .origin: self = isHeld ? .hold : .settle
      }
    }
  }
}
