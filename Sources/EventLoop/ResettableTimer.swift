internal import Dispatch

/// A timer that can be set again. A cancelled `Task.sleep` uses memory until its deadline; this timer does not.
package final class ResettableTimer: Sendable {
  // Dispatch's own objects may be used from any thread.
  nonisolated(unsafe) private let source: any DispatchSourceTimer

  /// Makes a timer that is not set.
  /// - Parameter ring: called on a thread of Dispatch.
  package init(_ handler: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: .global())
    source.setEventHandler(handler: handler)
    source.schedule(deadline: .distantFuture)
    source.activate()
  }

  deinit { source.cancel() }

  /// Sets the timer, and replaces an earlier time.
  /// - Parameter delay: the time from now, by a monotonic clock.
  package func set(after delay: Duration) {
    let (seconds, attoseconds) = delay.components
    let nanoseconds = min(seconds, Self.longest) * 1_000_000_000 + attoseconds / 1_000_000_000
    source.schedule(deadline: .now() + .nanoseconds(Int(max(0, nanoseconds))))
  }

  /// A century, in seconds.
  private static let longest: Int64 = 36_525 * 86_400
}
