/// A change that waits to be written, and who hears of it. Indirect: a change is large, and its entry goes from queue to queue.
package indirect enum CommitEntry: Sendable {
  /// What a client asked for: it is written, or refused and leaves nothing.
  case request(StoreChange, done: @Sendable (StoreError?) -> Void)
  /// What has happened anyway: it is tried until it holds, or is about another process's session; `settled` hears whether it was written.
  case fact(StoreChange, settled: @Sendable (Bool) -> Void)

  package var change: StoreChange {
    switch self {
    case .request(let change, _), .fact(let change, _): change
    }
  }
}
