/// A change that waits to be written, and who hears of it. Indirect: a change is large, and its entry goes from queue to queue.
package indirect enum CommitEntry: Sendable {
  /// What a client asked for: it is written, or refused and leaves nothing.
  case request(StoreChange, done: @Sendable (StoreError?) -> Void)
  /// What has happened anyway: it is tried until it holds.
  case fact(StoreChange, committed: @Sendable () -> Void)

  package var change: StoreChange {
    switch self {
    case .request(let change, _), .fact(let change, _): change
    }
  }
}
