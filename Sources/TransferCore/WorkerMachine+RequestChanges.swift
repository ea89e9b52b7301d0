internal import TransferModel

/// A client's change of the request of a background task. The service has committed it before the worker learns of it, so an attempt may have
/// begun meanwhile. That attempt stops, unless clients know its response or its request may not be repeated.
extension WorkerMachine {
  mutating func changeRequest(_ change: RequestChange, of id: TaskID, into effects: inout WorkerEffects) {
    guard var attempt = attempts[id], attempt.apply(change) else { return }
    attempts.insert(attempt)
    effects.keep(attempt)
    if attempt.replacement != nil { effects.order(.cancel(keepsPartial: true), of: attempt) }
  }

  /// Starts another attempt in place of one whose request has changed.
  mutating func restart(
    _ ended: AttemptMachine, after last: TransferOutcome, _ replacement: AttemptMachine.Replacement,
    at now: InputContext, into effects: inout WorkerEffects
  ) {
    var (attempt, outcome) = (ended, last)
    if case .file = outcome.body {
      effects.engineCommands.append(.remove(BlobKey(attempt.id, .body, outcome.blob)))
    }
    outcome.dropResult(keeping: attempt.state.partial, isMoved: replacement.isMoved)
    attempt.state.partial = outcome.partial
    attempt.state.deaths = 0
    if outcome.wasSent, attempt.lossCountsAsRetry {
      guard countLost(&attempt, at: now, into: &effects) else { return }
    } else {
      // The same attempt continues in the same file. If no bytes are left, the next attempt uses another file.
      if outcome.partial != nil { attempt.state.attempts -= 1 }
      effects.facts.append(.attemptReplaced(attempt.id, at: now.wall))
    }
    attempts.insert(attempt)
    effects.keep(attempt)
    admit(attempt.id, at: now, into: &effects)
  }
}

extension TransferFact {
  /// Whether the fact counts although its attempt's request has changed. Clients learn nothing else of that attempt.
  var countsAfterRequestChange: Bool {
    switch self {
    case .began, .keptPartial, .authenticated, .ended: true
    default: false
    }
  }
}

extension AttemptMachine {
  /// A change of the running attempt's request.
  struct Replacement: Sendable {
    /// Whether the URL has changed.
    var isMoved: Bool
  }

  /// Applies a client's change of the request.
  /// - Returns: `false` if the attempts have that request already.
  mutating func apply(_ change: RequestChange) -> Bool {
    let former = state.request ?? task.currentRequest
    let changed = change.applied(to: former)
    guard changed != former else { return false }
    let isMoved = changed.url != former.url
    (state.request, task.currentRequest) = (changed, changed)
    if isMoved { state.partial = state.partial?.moved }
    let isFinal = isInFlight && (!former.isIdempotent || hasResponded)
    if isActive, !isFinal, state.cancellation == nil {
      replacement = Replacement(isMoved: isMoved || replacement?.isMoved == true)
      isStopping = true
    }
    return true
  }
}
