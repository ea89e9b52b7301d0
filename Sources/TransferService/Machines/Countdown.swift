internal import Synchronization

/// Calls an action when so many have counted.
final class Countdown: Sendable {
  private let left: Mutex<Int>
  private let action: @Sendable () -> Void

  init(from count: Int, _ action: @escaping @Sendable () -> Void) {
    left = Mutex(count)
    self.action = action
  }

  func count() {
    let isLast = left.withLock { left in
      left -= 1
      return left == 0
    }
    if isLast { action() }
  }
}
