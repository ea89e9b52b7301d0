package import EventLoop

/// A monotonic clock, and a timer on that clock.
package struct TimerSource: Sendable {
  package typealias Action = @Sendable () -> Void

  package let now: @Sendable () -> ContinuousClock.Instant
  package let call: @Sendable (_ time: ContinuousClock.Instant, _ action: @escaping Action) -> Void

  package init(
    now: @escaping @Sendable () -> ContinuousClock.Instant,
    call: @escaping @Sendable (ContinuousClock.Instant, @escaping Action) -> Void
  ) {
    self.now = now
    self.call = call
  }

  /// - Parameter loop: the loop that calls the actions.
  package init(on loop: EventLoop) {
    now = { .now }
    call = { time, action in
      loop.perform { loop.schedule(at: time, action) }
    }
  }
}
