internal import Synchronization

/// A weak reference to the holder, which refers to its cluster.
final class WeakShardHolder: Sendable {
  private struct State {
    weak var holder: (any ShardHolder)?
  }
  private let state = Mutex(State())

  /// The holder; `nil` before the service joins.
  var holder: (any ShardHolder)? { state.withLock(\.holder) }
  func set(_ holder: any ShardHolder) { state.withLock { $0.holder = holder } }
}
