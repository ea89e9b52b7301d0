package import TransferModel

/// A change that waits to be written, with its callback. Indirect: a change is large, and its entry goes from queue to queue.
package indirect enum CommitEntry: Sendable {
  /// What a client asked for: it is written, or refused and leaves nothing.
  case request(StoreChange, done: @Sendable (StoreError?) -> Void)
  /// A fact: it is retried until it is written, or another process owns the session. `settled` receives whether it was written.
  case fact(StoreChange, settled: @Sendable (Bool) -> Void)
  /// A request or a fact for another ledger. Its events take their numbers from this one.
  case numbered(CommitEntry, by: any NumberedWriter)

  package var change: StoreChange {
    switch self {
    case .request(let change, _), .fact(let change, _): change
    case .numbered(let entry, _): entry.change
    }
  }

  // Single members: a change is large, and `change` copies it.

  package var isProgressOnly: Bool {
    switch self {
    case .request(let change, _), .fact(let change, _): change.isProgressOnly
    case .numbered(let entry, _): entry.isProgressOnly
    }
  }

  package var deletedSession: SessionID? {
    switch self {
    case .request(let change, _), .fact(let change, _): change.deletedSession
    case .numbered(let entry, _): entry.deletedSession
    }
  }

  /// The type of the session that it creates or changes.
  package var sessionType: SessionType? {
    switch self {
    case .request(let change, _), .fact(let change, _): change.sessions.first?.type
    case .numbered(let entry, _): entry.sessionType
    }
  }

  /// Where it prunes, if it does.
  package var prunedPlace: RetainedPlace? {
    switch self {
    case .request(let change, _), .fact(let change, _): change.pruning?.place
    case .numbered(let entry, _): entry.prunedPlace
    }
  }

  package var isFact: Bool {
    switch self {
    case .request: false
    case .fact: true
    case .numbered(let entry, _): entry.isFact
    }
  }

  package var isNumbered: Bool { if case .numbered = self { true } else { false } }

  /// Reports the outcome to the caller.
  /// - Parameter error: why nothing was written.
  package func answer(_ error: StoreError?) {
    switch self {
    case .request(_, let done): done(error)
    case .fact(_, let settled): settled(error == nil)
    case .numbered(let entry, _): entry.answer(error)
    }
  }

  /// Fails a request, and leaves a fact alone.
  /// - Returns: false for a fact, which must be retried.
  @discardableResult
  package func refuse(_ error: StoreError) -> Bool {
    if !isFact { answer(error) }
    return !isFact
  }
}

/// Another ledger whose events take their numbers from this one's counter, in order with this one's commits.
package protocol NumberedWriter: Sendable {
  /// Writes a change whole, or not at all.
  /// - Parameter last: the last event number before the change.
  /// - Returns: its events, numbered.
  func write(_ change: StoreChange, after last: Int64) -> Result<[JournalFragment], StoreError>
}
