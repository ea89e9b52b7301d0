internal import Synchronization
internal import TransferCore
package import TransferModel
package import TransferService

/// The clocks of a world, with their timers. The wall clock may be set; the monotonic clock only runs.
package final class SimulatedClock: Sendable {
  private struct Entry {
    let time: ContinuousClock.Instant
    let owner: Int
    let action: TimerSource.Action
  }
  private struct State {
    var now = SimulatedClock.start
    var uptime = SimulatedClock.boot
    var wasSet = false
    var timers: [Entry] = []
    /// The frozen processes, whose timers wait.
    var frozen: Set<Int> = []
  }
  package static let start = Timestamp(seconds: 1_800_000_000)
  /// The origin of all uptimes in this program. Worlds use differences only.
  package static let boot = ContinuousClock.Instant.now
  private let state = Mutex(State())

  package init() {}

  package var now: Timestamp { state.withLock { $0.now } }
  package var uptime: ContinuousClock.Instant { state.withLock { $0.uptime } }
  /// Whether the wall clock was ever set, so that ages are unknown.
  package var wasSet: Bool { state.withLock { $0.wasSet } }
  package var hasAlarms: Bool { state.withLock { !$0.timers.isEmpty } }

  /// - Parameter owner: the process of the timers.
  package func timers(of owner: Int = 0) -> TimerSource {
    TimerSource(now: { self.uptime }) { time, action in
      if InjectedFault.dropsDeadlines.isPresent { return }
      self.state.withLock { $0.timers.append(Entry(time: time, owner: owner, action: action)) }
    }
  }

  /// Sets the wall clock. Timers are not affected.
  package func advance(_ seconds: Double) {
    state.withLock { state in
      state.now = state.now.adding(seconds: seconds)
      state.wasSet = true
    }
  }

  /// Moves both clocks.
  package func run(_ seconds: Double) {
    state.withLock { state in
      state.now = state.now.adding(seconds: seconds)
      state.uptime = state.uptime.advanced(by: .seconds(seconds))
    }
  }

  package func set(_ owner: Int, isFrozen: Bool) {
    state.withLock { state in
      if isFrozen { state.frozen.insert(owner) } else { state.frozen.remove(owner) }
    }
  }

  /// Removes the timers of a process that has ended.
  package func forget(_ owner: Int) { state.withLock { $0.timers.removeAll { $0.owner == owner } } }

  /// Moves both clocks to the next timer and fires it.
  /// - Parameter horizon: timers that are farther away are ignored.
  /// - Returns: `false` if there is no timer.
  @discardableResult
  package func fireNext(within horizon: Duration? = nil) -> Bool {
    let action = state.withLock { state -> TimerSource.Action? in
      var next: Int?
      for index in state.timers.indices where !state.frozen.contains(state.timers[index].owner) {
        if next.map({ state.timers[index].time < state.timers[$0].time }) ?? true { next = index }
      }
      guard let next else { return nil }
      if let horizon, state.timers[next].time > state.uptime + horizon { return nil }
      let alarm = state.timers.remove(at: next)
      if alarm.time > state.uptime {
        let left = (alarm.time - state.uptime).components
        state.now = state.now.adding(seconds: Double(left.seconds) + Double(left.attoseconds) * 1e-18)
        state.uptime = alarm.time
      }
      return alarm.action
    }
    action?()
    return action != nil
  }
}
