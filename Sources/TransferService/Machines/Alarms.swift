package import EventLoop

/// A clock that nobody sets, and who calls at a time of it.
package struct Alarms: Sendable {
  package typealias Action = @Sendable () -> Void

  let now: @Sendable () -> ContinuousClock.Instant
  let call: @Sendable (_ time: ContinuousClock.Instant, _ action: @escaping Action) -> Void

  package init(
    now: @escaping @Sendable () -> ContinuousClock.Instant,
    call: @escaping @Sendable (ContinuousClock.Instant, @escaping Action) -> Void
  ) {
    self.now = now
    self.call = call
  }

  /// - Parameter loop: calls from there.
  package init(on loop: EventLoop) {
    now = { .now }
    call = { time, action in
      loop.perform { loop.schedule(at: time, action) }
    }
  }
}
