internal import Synchronization
internal import TransferModel

/// Those who wait for a task: for the head of its answer, or for its end. Each is called once.
final class TaskWaiters: Sendable {
  /// One who waits for an end.
  struct Ticket: Hashable {
    fileprivate let number: UInt64
  }
  private struct State {
    var heads: [TaskID: [@Sendable () -> Void]] = [:]
    var ends: [TaskID: Set<UInt64>] = [:]
    /// Those who wait for an end. The patient wait for as long as they like.
    var waiting: [UInt64: (task: TaskID, waiter: Waiter, isPatient: Bool)] = [:]
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
  var isLeaving: Bool { state.withLock { $0.isLeaving } }

  /// Their ends come at another process.
  func letGo(of tasks: [TaskID]) { haveEnded(tasks) }

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
      state.waiting[state.last] = (task, waiter, isPatient)
      state.ends[task, default: []].insert(state.last)
      return Ticket(number: state.last)
    }
  }

  func leave(_ ticket: Ticket) {
    state.withLock { state in
      guard let (task, _, _) = state.waiting.removeValue(forKey: ticket.number) else { return }
      state.ends[task]?.remove(ticket.number)
      if state.ends[task]?.isEmpty == true { state.ends[task] = nil }
    }
  }

  /// It has waited for long enough.
  func giveUp(_ ticket: Ticket) { state.withLock { $0.waiting[ticket.number]?.waiter }?.resume() }

  /// The ends of these tasks are committed.
  func haveEnded(_ tasks: [TaskID]) {
    let waiters = state.withLock { state in
      state.ends.isEmpty
        ? [] : tasks.flatMap { state.ends[$0] ?? [] }.compactMap { state.waiting[$0]?.waiter }
    }
    for waiter in waiters { waiter.resume() }
    headsAreThere(tasks)
  }
}
