internal import Synchronization

/// A timer on a thread of its own, which calls an action at once and then at an interval. No other work delays it.
package final class Ticker: Sendable {
  private let loop: EventLoop
  private let isStopped = Mutex(false)

  /// Starts the timer.
  /// - Parameter action: receives the ticker.
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

  /// Ends the thread. After this call returns, no action runs.
  package func stop() {
    isStopped.withLock { $0 = true }
    loop.stop()
  }
}
