package import Processes

/// Wakes another process. The call carries no data: the other process looks for changes itself.
package protocol Waker: Sendable {
  /// - Returns: whether another process received the wake-up.
  @discardableResult func wake() -> Bool
}

extension WakeupClient: Waker {}
