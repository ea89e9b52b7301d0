internal import Synchronization

/// Calls an action when so many have counted.
package final class Countdown: Sendable {
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
