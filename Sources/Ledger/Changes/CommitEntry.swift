package import TransferModel

/// A change that waits to be written, with its callback. The enum is indirect because a change is large and passes through several queues.
package indirect enum CommitEntry: Sendable {
  /// A change that a client asked for: written whole, or refused.
  case request(LedgerChange, done: @Sendable (LedgerError?) -> Void)
  /// A fact: retried until it is written or another process owns the session. `settled` receives whether the fact was written.
  case fact(LedgerChange, settled: @Sendable (Bool) -> Void)
  /// A request or a fact for another ledger. Its events take their numbers from this one.
  case numbered(CommitEntry, by: any NumberedWriter)

  package var change: LedgerChange {
    switch self {
    case .request(let change, _), .fact(let change, _): change
    case .numbered(let entry, _): entry.change
    }
  }

  // Each property below reads one member: `change` would copy a large value.

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

  /// The type of the session that the change creates or updates.
  package var sessionType: SessionType? {
    switch self {
    case .request(let change, _), .fact(let change, _): change.sessions.first?.type
    case .numbered(let entry, _): entry.sessionType
    }
  }

  /// The records that the change prunes; `nil` if it prunes none.
  package var prunedPlace: StorageTier? {
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
  /// - Parameter error: the reason if nothing was written.
  package func complete(_ error: LedgerError?) {
    switch self {
    case .request(_, let done): done(error)
    case .fact(_, let settled): settled(error == nil)
    case .numbered(let entry, _): entry.complete(error)
    }
  }

  /// Fails a request; does nothing to a fact.
  /// - Returns: `false` for a fact, which must be retried.
  @discardableResult
  package func fail(_ error: LedgerError) -> Bool {
    if !isFact { complete(error) }
    return !isFact
  }
}

/// A ledger whose events take their numbers from the counter of the durable ledger, in the order of the latter's commits.
package protocol NumberedWriter: Sendable {
  /// Writes a change, whole or not at all.
  /// - Parameter last: the last event number before the change.
  /// - Returns: the change's events, with their numbers.
  func write(_ change: LedgerChange, after last: Int64) -> Result<[JournalFragment], LedgerError>
}
