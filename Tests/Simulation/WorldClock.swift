internal import Synchronization
internal import TransferCore
package import TransferModel
package import TransferService

/// The clocks of a world, and what is to happen at a time of theirs. The one on the wall may be set; the other only runs.
package final class WorldClock: Sendable {
  private struct Entry {
    let time: ContinuousClock.Instant
    let owner: Int
    let action: Alarms.Action
  }
  private struct State {
    var now = WorldClock.start
    var uptime = WorldClock.boot
    var wasSet = false
    var alarms: [Entry] = []
    /// Processes that stand still: what is due waits for them.
    var frozen: Set<Int> = []
  }
  package static let start = Timestamp(seconds: 1_800_000_000)
  /// Where all uptime of this program counts from: worlds know differences alone.
  package static let boot = ContinuousClock.Instant.now
  private let state = Mutex(State())

  package init() {}

  package var now: Timestamp { state.withLock { $0.now } }
  package var uptime: ContinuousClock.Instant { state.withLock { $0.uptime } }
  /// It was set once, so that nobody can say how old something is.
  package var wasSet: Bool { state.withLock { $0.wasSet } }
  package var hasAlarms: Bool { state.withLock { !$0.alarms.isEmpty } }

  /// - Parameter owner: the process that waits.
  package func alarms(of owner: Int = 0) -> Alarms {
    Alarms(now: { self.uptime }) { time, action in
      if Flaw.dropsDeadlines.isPresent { return }
      self.state.withLock { $0.alarms.append(Entry(time: time, owner: owner, action: action)) }
    }
  }

  /// Moves the clock on the wall alone: nothing that waits for a while is nearer.
  package func advance(_ seconds: Double) {
    state.withLock { state in
      state.now = state.now.adding(seconds: seconds)
      state.wasSet = true
    }
  }

  /// Moves both.
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

  /// Nobody is there any more who waited.
  package func forget(_ owner: Int) { state.withLock { $0.alarms.removeAll { $0.owner == owner } } }

  /// Moves both clocks to the next alarm. False where there is none.
  /// - Parameter horizon: alarms that are farther away are none.
  @discardableResult
  package func fireNext(within horizon: Duration? = nil) -> Bool {
    let action = state.withLock { state -> Alarms.Action? in
      var next: Int?
      for index in state.alarms.indices where !state.frozen.contains(state.alarms[index].owner) {
        if next.map({ state.alarms[index].time < state.alarms[$0].time }) ?? true { next = index }
      }
      guard let next else { return nil }
      if let horizon, state.alarms[next].time > state.uptime + horizon { return nil }
      let alarm = state.alarms.remove(at: next)
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
