internal import HeapModule
internal import Synchronization
internal import TransferModel

/// Wakes what has a time to wake at: tasks with a begin date, which is one of the clock on the wall, and decisions that nobody
/// answers, which wait for a while however that clock is set. Any number of them costs one sleeping task and a place in a heap.
final class DeadlineQueue: Sendable {
  enum Purpose: Hashable, Sendable {
    case decision(DecisionID)
    case begin(TaskID)
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
    var sleeper: Task<Void, Never>?
    var wakesAt: ContinuousClock.Instant?

    mutating func nextSerial() -> UInt64 {
      serial += 1
      return serial
    }
  }

  private let now: @Sendable () -> Timestamp
  private let uptime: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())
  private let fire = Mutex<(@Sendable (Purpose) -> Void)?>(nil)

  /// - Parameters:
  ///   - now: the clock on the wall.
  ///   - uptime: one that nobody sets.
  init(
    now: @escaping @Sendable () -> Timestamp,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.now = now
    self.uptime = uptime
  }

  /// Calls `fire` for each purpose whose time has come; whoever set a time earlier than needed looks again.
  func onFire(_ fire: @escaping @Sendable (Purpose) -> Void) { self.fire.withLock { $0 = fire } }

  func add(_ purpose: Purpose, at date: Timestamp) {
    state.withLock { state in
      state.dates.insert(Entry(time: date, serial: state.nextSerial(), purpose: purpose))
      arm(&state)
    }
  }

  /// - Parameter seconds: from now.
  func add(_ purpose: Purpose, after seconds: Double) {
    state.withLock { state in
      let time = uptime().advanced(by: .seconds(seconds))
      state.waits.insert(Entry(time: time, serial: state.nextSerial(), purpose: purpose))
      arm(&state)
    }
  }

  /// Fires what is due.
  func wake() {
    let due: [Purpose] = state.withLock { state in
      state.wakesAt = nil
      let due = Self.take(until: now(), from: &state.dates) + Self.take(until: uptime(), from: &state.waits)
      arm(&state)
      return due
    }
    guard let fire = fire.withLock({ $0 }) else { return }
    for purpose in due { fire(purpose) }
  }

  private static func take<Time>(until time: Time, from heap: inout Heap<Entry<Time>>) -> [Purpose] {
    var due: [Purpose] = []
    while let first = heap.min, first.time <= time {
      heap.removeMin()
      due.append(first.purpose)
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
    state.sleeper?.cancel()
    let delay = max(.zero, next - present)
    state.sleeper = Task { [weak self] in
      try? await Task.sleep(for: delay)
      if !Task.isCancelled { self?.wake() }
    }
  }
}
