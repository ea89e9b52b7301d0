internal import EventLoop
internal import Synchronization
internal import TransferModel

/// Those who wait for a task: for the head of its answer, or for its end. Each is called once.
final class TaskWaiters: Sendable {
  /// One who waits for an end.
  struct Ticket: Hashable {
    fileprivate let number: UInt64
  }
  private struct Entry {
    let task: TaskID
    let waiter: Waiter
    /// Waits for as long as it likes.
    let isPatient: Bool
    /// The task as it has ended.
    var outcome: TransferTask?
  }
  private struct State {
    var heads: [TaskID: [@Sendable () -> Void]] = [:]
    var ends: [TaskID: Set<UInt64>] = [:]
    /// Those who wait for an end.
    var waiting: [UInt64: Entry] = [:]
    var last: UInt64 = 0
    var isDraining = false
    var isLeaving = false
  }
  private let state = Mutex(State())

  /// Those who wait for an end now.
  var count: Int { state.withLock { $0.waiting.count + $0.heads.count } }

  /// True once the service is about to stop.
  var isDraining: Bool { state.withLock { $0.isDraining } }

  /// The service's sessions go to another.
  func beginLeaving() { state.withLock { $0.isLeaving = true } }
  var isLeaving: Bool { state.withLock { $0.isLeaving || $0.isDraining } }

  /// Their ends come at another process.
  func letGo(of tasks: [TaskID]) { haveEnded(tasks, as: []) }

  /// From now on nobody waits for as long as he likes.
  func beginDraining() {
    let patient = state.withLock { state in
      state.isDraining = true
      return state.waiting.values.filter(\.isPatient).map(\.waiter)
    }
    for waiter in patient { waiter.resume() }
  }

  // MARK: The head of an answer

  /// - Parameter action: called when the head is there, or never comes.
  func waitForHead(of task: TaskID, _ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.heads[task, default: []].append(action) }
  }

  /// The heads of these tasks' answers are there, or never come.
  func headsAreThere(_ tasks: [TaskID]) {
    let actions = state.withLock { state in
      state.heads.isEmpty ? [] : tasks.flatMap { state.heads.removeValue(forKey: $0) ?? [] }
    }
    for action in actions { action() }
  }

  // MARK: Ends

  /// nil where the service is about to stop, and the waiter would wait for as long as he likes.
  func enter(_ waiter: Waiter, for task: TaskID, isPatient: Bool) -> Ticket? {
    state.withLock { state in
      guard !isPatient || !state.isDraining else { return nil }
      state.last += 1
      state.waiting[state.last] = Entry(task: task, waiter: waiter, isPatient: isPatient)
      state.ends[task, default: []].insert(state.last)
      return Ticket(number: state.last)
    }
  }

  /// - Returns: the task, where it has ended and it is known how.
  func leave(_ ticket: Ticket) -> TransferTask? {
    state.withLock { state in
      guard let entry = state.waiting.removeValue(forKey: ticket.number) else { return nil }
      state.ends[entry.task]?.remove(ticket.number)
      if state.ends[entry.task]?.isEmpty == true { state.ends[entry.task] = nil }
      return entry.outcome
    }
  }

  /// It has waited for long enough.
  func giveUp(_ ticket: Ticket) { state.withLock { $0.waiting[ticket.number]?.waiter }?.resume() }

  /// The ends of these tasks are committed.
  /// - Parameter rows: what they have become.
  func haveEnded(_ tasks: [TaskID], as rows: [TransferTask]) {
    let waiters = state.withLock { state -> [Waiter] in
      guard !state.ends.isEmpty else { return [] }
      return tasks.flatMap { task -> [Waiter] in
        guard let numbers = state.ends[task] else { return [] }
        let outcome = rows.last { $0.id == task && $0.state == .completed }
        for number in numbers { state.waiting[number]?.outcome = outcome }
        return numbers.compactMap { state.waiting[$0]?.waiter }
      }
    }
    for waiter in waiters { waiter.resume() }
    headsAreThere(tasks)
  }
}
