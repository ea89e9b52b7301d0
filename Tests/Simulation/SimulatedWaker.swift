internal import TransferService

/// A waker whose listener checks for wakeups when the world lets it. For one thread.
package final class SimulatedWaker: Waker, @unchecked Sendable {
  private struct Target {
    weak var waker: SimulatedWaker?
  }
  private var targets: [Target] = []
  package var isRung = false
  package var isHeard = false

  package init() {}

  /// Sets the wakers whose listeners this one wakes.
  package func pull(_ wakers: [SimulatedWaker]) { targets = wakers.map { Target(waker: $0) } }

  package func wake() -> Bool {
    let heard = targets.compactMap(\.waker).filter(\.isHeard)
    for waker in heard { waker.isRung = true }
    return !heard.isEmpty
  }
}
