internal import HeapModule
internal import Synchronization
internal import TransferModel

/// Wakes what has a time to wake at: decisions that nobody answers, tasks with a begin date. Any number of them costs
/// one sleeping task and a place in a heap.
final class DeadlineQueue: Sendable {
  enum Purpose: Hashable, Sendable {
    case decision(DecisionID)
    case begin(TaskID)
  }
  private struct Entry: Comparable {
    let time: Timestamp
    let serial: UInt64
    let purpose: Purpose
    static func < (left: Entry, right: Entry) -> Bool {
      (left.time, left.serial) < (right.time, right.serial)
    }
    static func == (left: Entry, right: Entry) -> Bool { left.serial == right.serial }
  }
  private struct State {
    var heap = Heap<Entry>()
    var serial: UInt64 = 0
    var sleeper: Task<Void, Never>?
    var wakesAt: Timestamp?
  }

  private let now: @Sendable () -> Timestamp
  private let state = Mutex(State())
  private let fire = Mutex<(@Sendable (Purpose) -> Void)?>(nil)

  init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

  /// Calls `fire` for each purpose whose time has come; whoever set a time earlier than needed looks again.
  func onFire(_ fire: @escaping @Sendable (Purpose) -> Void) { self.fire.withLock { $0 = fire } }

  func add(_ purpose: Purpose, at time: Timestamp) {
    state.withLock { state in
      state.serial += 1
      state.heap.insert(Entry(time: time, serial: state.serial, purpose: purpose))
      arm(&state)
    }
  }

  /// Fires what is due.
  func wake() {
    let time = now()
    let due: [Purpose] = state.withLock { state in
      state.wakesAt = nil
      var due: [Purpose] = []
      while let first = state.heap.min, first.time <= time {
        state.heap.removeMin()
        due.append(first.purpose)
      }
      arm(&state)
      return due
    }
    guard let fire = fire.withLock({ $0 }) else { return }
    for purpose in due { fire(purpose) }
  }

  private func arm(_ state: inout State) {
    guard let first = state.heap.min, state.wakesAt.map({ first.time < $0 }) ?? true else { return }
    state.wakesAt = first.time
    state.sleeper?.cancel()
    let delay = max(0, first.time.since(now()))
    state.sleeper = Task { [weak self] in
      // A begin date may be years away: slept in pieces, so that a clock that is set is noticed.
      try? await Task.sleep(for: .seconds(min(delay, 60)))
      if !Task.isCancelled { self?.wake() }
    }
  }
}
