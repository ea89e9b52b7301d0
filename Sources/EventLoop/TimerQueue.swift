internal import HeapModule

/// The identity of a timer of one loop, for cancelling.
package struct LoopTimer: Hashable, Sendable {
  let serial: UInt64
}

/// The timers of a loop. Cancelled timers stay in the heap until they reach the top or outnumber the others.
struct TimerQueue {
  private struct Entry: Comparable {
    let deadline: ContinuousClock.Instant
    let serial: UInt64
    static func < (left: Entry, right: Entry) -> Bool {
      (left.deadline, left.serial) < (right.deadline, right.serial)
    }
  }
  private var heap = Heap<Entry>()
  private var actions: [UInt64: () -> Void] = [:]
  private var nextSerial: UInt64 = 0

  mutating func insert(_ deadline: ContinuousClock.Instant, _ action: @escaping () -> Void) -> LoopTimer {
    nextSerial += 1
    actions[nextSerial] = action
    heap.insert(Entry(deadline: deadline, serial: nextSerial))
    return LoopTimer(serial: nextSerial)
  }

  /// The number of cancelled entries that are always allowed, in addition to as many as there are timers.
  static let spareEntries = 64

  mutating func remove(_ timer: LoopTimer) {
    actions[timer.serial] = nil
    guard heap.count > 2 * actions.count + Self.spareEntries else { return }
    heap = Heap(heap.unordered.filter { actions[$0.serial] != nil })
  }

  var countOfEntries: Int { heap.count }

  /// Returns the timeout for `epoll_wait`, rounded up; -1 without timers.
  mutating func milliseconds(from now: ContinuousClock.Instant) -> Int32 {
    while let first = heap.min, actions[first.serial] == nil { heap.removeMin() }
    guard let deadline = heap.min?.deadline else { return -1 }
    guard deadline > now else { return 0 }
    let (seconds, attoseconds) = now.duration(to: deadline).components
    guard seconds < 3600 else { return 3_600_000 }
    return Int32(seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
  }

  /// Removes and returns the due actions, in order. Timers that these actions set are not included, whatever their deadline.
  mutating func takeDue(_ now: ContinuousClock.Instant) -> [() -> Void] {
    var due: [() -> Void] = []
    while let first = heap.min, first.deadline <= now {
      heap.removeMin()
      if let action = actions.removeValue(forKey: first.serial) { due.append(action) }
    }
    return due
  }
}
