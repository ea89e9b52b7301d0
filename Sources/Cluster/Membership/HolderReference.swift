internal import Synchronization

/// A weak reference to the holder, which refers to its cluster.
final class HolderReference: Sendable {
  private struct State {
    weak var holder: (any ShardHolder)?
  }
  private let state = Mutex(State())

  /// Nil before the service takes part.
  var holder: (any ShardHolder)? { state.withLock(\.holder) }
  func set(_ holder: any ShardHolder) { state.withLock { $0.holder = holder } }
}
