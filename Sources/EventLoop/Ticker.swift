internal import Synchronization

/// Calls an action at once and then at an interval, on a thread of its own: no other work delays it, wherever that waits.
package final class Ticker: Sendable {
  private let loop: EventLoop
  private let isStopped = Mutex(false)

  /// - Parameter action: gets the ticker.
  package init(name: String, every interval: Duration, _ action: @escaping @Sendable (Ticker) -> Void) {
    loop = EventLoop(name: name)
    loop.start()
    loop.perform { [self] in tick(every: interval, action) }
  }

  deinit { loop.stop() }

  private func tick(every interval: Duration, _ action: @escaping @Sendable (Ticker) -> Void) {
    isStopped.withLock { if !$0 { action(self) } }
    loop.schedule(at: .now + interval) { [weak self] in self?.tick(every: interval, action) }
  }

  /// Runs `work` on the thread, between two calls of the action.
  package func perform(_ work: @escaping @Sendable () -> Void) {
    loop.perform { [weak self] in self?.isStopped.withLock { if !$0 { work() } } }
  }

  /// Ends the thread. When this returns, nothing is under way, and nothing follows.
  package func stop() {
    isStopped.withLock { $0 = true }
    loop.stop()
  }
}
