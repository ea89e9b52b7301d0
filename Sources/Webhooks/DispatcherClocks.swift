package import TransferModel
package import TransferService

/// The clocks, timers, tasks and random numbers of a dispatcher.
package struct DispatcherClocks: Sendable {
  /// The wall clock.
  let now: @Sendable () -> Timestamp
  let timers: TimerSource
  let spawn: TaskSpawner
  /// Returns a number from 0 to 1.
  let jitter: @Sendable () -> Double

  package init(
    now: @escaping @Sendable () -> Timestamp, timers: TimerSource, spawn: TaskSpawner = TaskSpawner(),
    jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) {
    (self.now, self.timers, self.spawn, self.jitter) = (now, timers, spawn, jitter)
  }

  var present: DeliveryQueue.Now { DeliveryQueue.Now(wall: now(), uptime: timers.now()) }
}
