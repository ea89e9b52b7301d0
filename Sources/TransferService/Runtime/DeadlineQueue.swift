internal import EventLoop
internal import HeapModule
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Fires purposes at their times. Begin dates of tasks follow the wall clock; expiries of decisions follow a monotonic clock. All
/// of them share one timer and two heaps.
///
/// A purpose has one time, the last that was set. A replaced or cancelled entry stays in its heap until its time comes, or until
/// most entries are stale. Cancelling is therefore as cheap as adding.
final class DeadlineQueue: Sendable {
  enum Purpose: Hashable, Sendable {
    case decision(DecisionID, of: TaskID)
    case begin(TaskID)
    case crashWindow(TaskID)
    /// A request that waits for a task's end.
    case wait(TaskWaiters.Token)
    /// Another attempt to complete groups.
    case groups
  }
  private struct Entry<Time: Comparable>: Comparable {
    let time: Time
    let serial: UInt64
    let purpose: Purpose
    static func < (left: Self, right: Self) -> Bool {
      (left.time, left.serial) < (right.time, right.serial)
    }
    static func == (left: Self, right: Self) -> Bool { left.serial == right.serial }
  }
  private struct State {
    var dates = Heap<Entry<Timestamp>>()
    var waits = Heap<Entry<ContinuousClock.Instant>>()
    var serial: UInt64 = 0
    /// The serial number of each purpose's valid entry.
    var current: [Purpose: UInt64] = [:]
    var wakesAt: ContinuousClock.Instant?

    mutating func entry<Time>(_ purpose: Purpose, at time: Time) -> Entry<Time> {
      serial += 1
      current[purpose] = serial
      return Entry(time: time, serial: serial, purpose: purpose)
    }

    func counts<Time>(_ entry: Entry<Time>) -> Bool { current[entry.purpose] == entry.serial }

    /// Rebuilds the heaps without stale entries if these are the majority.
    mutating func compact() {
      guard dates.count + waits.count > 2 * current.count + DeadlineQueue.leastToCompact else { return }
      dates = Heap(dates.unordered.filter { counts($0) })
      waits = Heap(waits.unordered.filter { counts($0) })
    }
  }

  /// The number of entries below which the heaps are not rebuilt.
  private static let leastToCompact = 64

  /// The monotonic time.
  var uptimeNow: ContinuousClock.Instant { uptime() }

  private let now: @Sendable () -> Timestamp
  private let uptime: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())
  private let fired = LateBoundCallback<Purpose>()
  private let timer: ResettableTimer?
  private let timers: TimerSource?
  private let rung: LateBoundCallback<Void>

  /// - Parameters:
  ///   - now: the wall clock.
  ///   - uptime: a monotonic clock.
  ///   - alarms: the timer, or `nil` for the system's timer.
  init(
    now: @escaping @Sendable () -> Timestamp,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, timers: TimerSource? = nil
  ) {
    self.now = now
    self.uptime = timers?.now ?? uptime
    self.timers = timers
    let rung = LateBoundCallback<Void>()
    self.rung = rung
    timer = timers == nil ? ResettableTimer { rung.deliver() } : nil
    rung.connect { [weak self] in self?.wake() }
  }

  /// Calls `fire` for each purpose whose time has come. If the caller set the time too early, it must check again.
  func onFire(_ fire: @escaping @Sendable (Purpose) -> Void) { fired.connect(fire) }

  func add(_ purpose: Purpose, at date: Timestamp) {
    state.withLock { state in
      state.dates.insert(state.entry(purpose, at: date))
      state.compact()
      arm(&state)
    }
  }

  /// - Parameter seconds: from now.
  func add(_ purpose: Purpose, after seconds: Double) {
    state.withLock { state in
      state.waits.insert(state.entry(purpose, at: uptime().advanced(by: .seconds(seconds))))
      state.compact()
      arm(&state)
    }
  }

  /// Sets or cancels a timer as a machine requests.
  func set(_ timer: SessionEffects.TimerChange) {
    switch timer {
    case .decision(let decision, let task, let seconds): add(.decision(decision, of: task), after: seconds)
    case .begin(let task, let date): add(.begin(task), at: date)
    case .cancelDecision(let decision, let task): remove(.decision(decision, of: task))
    case .cancelBegin(let task): remove(.begin(task))
    case .retry(let task, let seconds): add(.begin(task), after: seconds)
    case .crashWindow(let task, let time): add(.crashWindow(task), after: time / .seconds(1))
    case .cancelCrashWindow(let task): remove(.crashWindow(task))
    }
  }

  /// Cancels a purpose.
  func remove(_ purpose: Purpose) {
    state.withLock { state in
      guard state.current.removeValue(forKey: purpose) != nil else { return }
      state.compact()
    }
  }

  /// The number of purposes with a time.
  var count: Int { state.withLock { $0.current.count } }

  /// The number of entries in the heaps, including stale ones.
  var size: Int { state.withLock { $0.dates.count + $0.waits.count } }

  /// Fires all purposes that are due.
  func wake() {
    let due: [Purpose] = state.withLock { state in
      state.wakesAt = nil
      let (dates, waits) = (
        Self.popDue(until: now(), from: &state.dates), Self.popDue(until: uptime(), from: &state.waits)
      )
      let due =
        dates.filter { state.counts($0) }.map(\.purpose) + waits.filter { state.counts($0) }.map(\.purpose)
      for purpose in due { state.current[purpose] = nil }
      arm(&state)
      return due
    }
    for purpose in due { fired.deliver(purpose) }
  }

  private static func popDue<Time>(until time: Time, from heap: inout Heap<Entry<Time>>) -> [Entry<Time>] {
    var due: [Entry<Time>] = []
    while let first = heap.min, first.time <= time {
      heap.removeMin()
      due.append(first)
    }
    return due
  }

  private func arm(_ state: inout State) {
    let present = uptime()
    // A begin date may be years away. The timer wakes at least once a minute to notice that the wall clock was set.
    let date = state.dates.min.map { present + .seconds(min(max(0, $0.time.since(now())), 60)) }
    guard let next = [date, state.waits.min?.time].compactMap({ $0 }).min(),
      state.wakesAt.map({ next < $0 }) ?? true
    else { return }
    state.wakesAt = next
    timer?.set(after: next - present)
    timers?.call(next) { [weak rung] in rung?.deliver() }
  }
}
