internal import EventLoop
internal import HeapModule
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Wakes what has a time to wake at: tasks with a begin date, which is one of the clock on the wall, and decisions that nobody
/// answers, which wait for a while however that clock is set. Any number of them costs one alarm and a place in a heap.
///
/// A purpose has one time, the last that was set. What was set before, or taken away, stays in its heap until its time comes or
/// more than half of the heaps is such: so to take one away costs as little as to add one, and none is kept for hours.
final class DeadlineQueue: Sendable {
  enum Purpose: Hashable, Sendable {
    case decision(DecisionID, of: TaskID)
    case begin(TaskID)
    /// Somebody who waits for a task's end.
    case wait(TaskWaiters.Ticket)
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
    /// The entries that count.
    var current: [Purpose: UInt64] = [:]
    var wakesAt: ContinuousClock.Instant?

    mutating func entry<Time>(_ purpose: Purpose, at time: Time) -> Entry<Time> {
      serial += 1
      current[purpose] = serial
      return Entry(time: time, serial: serial, purpose: purpose)
    }

    func counts<Time>(_ entry: Entry<Time>) -> Bool { current[entry.purpose] == entry.serial }

    /// Drops what does not count, once that is the greater part.
    mutating func compact() {
      guard dates.count + waits.count > 2 * current.count + DeadlineQueue.leastToCompact else { return }
      dates = Heap(dates.unordered.filter { counts($0) })
      waits = Heap(waits.unordered.filter { counts($0) })
    }
  }

  /// So few entries are not worth a look.
  private static let leastToCompact = 64

  private let now: @Sendable () -> Timestamp
  private let uptime: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())
  private let fired = Relay<Purpose>()
  private let alarm: Alarm?
  private let alarms: Alarms?
  private let rung: Relay<Void>

  /// - Parameters:
  ///   - now: the clock on the wall.
  ///   - uptime: one that nobody sets.
  ///   - alarms: keep the time in place of the system's timer.
  init(
    now: @escaping @Sendable () -> Timestamp,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, alarms: Alarms? = nil
  ) {
    self.now = now
    self.uptime = alarms?.now ?? uptime
    self.alarms = alarms
    let rung = Relay<Void>()
    self.rung = rung
    alarm = alarms == nil ? Alarm { rung.ring() } : nil
    rung.connect { [weak self] in self?.wake() }
  }

  /// Calls `fire` for each purpose whose time has come; whoever set a time earlier than needed looks again.
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

  /// Does what a machine wants of it.
  func set(_ alarm: Turn.Alarm) {
    switch alarm {
    case .decision(let decision, let task, let seconds): add(.decision(decision, of: task), after: seconds)
    case .begin(let task, let date): add(.begin(task), at: date)
    case .cancelDecision(let decision, let task): remove(.decision(decision, of: task))
    case .cancelBegin(let task): remove(.begin(task))
    }
  }

  /// Nobody waits for it any more.
  func remove(_ purpose: Purpose) {
    state.withLock { state in
      guard state.current.removeValue(forKey: purpose) != nil else { return }
      state.compact()
    }
  }

  /// What has a time to wake at.
  var count: Int { state.withLock { $0.current.count } }

  /// Entries that it holds, those included that do not count any more.
  var size: Int { state.withLock { $0.dates.count + $0.waits.count } }

  /// Fires what is due.
  func wake() {
    let due: [Purpose] = state.withLock { state in
      state.wakesAt = nil
      let (dates, waits) = (
        Self.take(until: now(), from: &state.dates), Self.take(until: uptime(), from: &state.waits)
      )
      let due =
        dates.filter { state.counts($0) }.map(\.purpose) + waits.filter { state.counts($0) }.map(\.purpose)
      for purpose in due { state.current[purpose] = nil }
      arm(&state)
      return due
    }
    for purpose in due { fired.deliver(purpose) }
  }

  private static func take<Time>(until time: Time, from heap: inout Heap<Entry<Time>>) -> [Entry<Time>] {
    var due: [Entry<Time>] = []
    while let first = heap.min, first.time <= time {
      heap.removeMin()
      due.append(first)
    }
    return due
  }

  private func arm(_ state: inout State) {
    let present = uptime()
    // A begin date may be years away: slept in pieces, so that a clock that is set is noticed.
    let date = state.dates.min.map { present + .seconds(min(max(0, $0.time.since(now())), 60)) }
    guard let next = [date, state.waits.min?.time].compactMap({ $0 }).min(),
      state.wakesAt.map({ next < $0 }) ?? true
    else { return }
    state.wakesAt = next
    alarm?.set(after: next - present)
    alarms?.call(next) { [weak rung] in rung?.ring() }
  }
}
