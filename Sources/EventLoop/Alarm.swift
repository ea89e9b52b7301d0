internal import Dispatch

/// Rings at a time that may be set anew. A `Task.sleep` that is cancelled keeps its memory until its time has come; this keeps none.
package final class Alarm: Sendable {
  // Dispatch's own objects may be used from any thread.
  nonisolated(unsafe) private let source: any DispatchSourceTimer

  /// - Parameter ring: called on a thread of Dispatch's.
  package init(_ ring: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: .global())
    source.setEventHandler(handler: ring)
    source.schedule(deadline: .distantFuture)
    source.activate()
  }

  deinit { source.cancel() }

  /// - Parameter delay: from now, by a clock that nobody sets. What was set before counts no more.
  package func set(after delay: Duration) {
    let (seconds, attoseconds) = delay.components
    let nanoseconds = min(seconds, Self.longest) * 1_000_000_000 + attoseconds / 1_000_000_000
    source.schedule(deadline: .now() + .nanoseconds(Int(max(0, nanoseconds))))
  }

  /// A century, in seconds.
  private static let longest: Int64 = 36_525 * 86_400
}
