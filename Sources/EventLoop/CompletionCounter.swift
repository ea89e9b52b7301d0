internal import Synchronization

/// A counter that calls an action at the last of a number of calls.
package final class CompletionCounter: Sendable {
  private let left: Mutex<Int>
  private let action: @Sendable () -> Void

  package init(from count: Int, _ action: @escaping @Sendable () -> Void) {
    left = Mutex(count)
    self.action = action
  }

  package func count() {
    let isLast = left.withLock { left in
      left -= 1
      return left == 0
    }
    if isLast { action() }
  }
}
