internal import EventLoop
internal import Synchronization
internal import TransferModel

/// Requests that wait for the head of a task's response or for the task's end. Each request is resumed once.
final class TaskWaiters: Sendable {
  /// A request that waits for a task's end.
  struct Token: Hashable {
    fileprivate let number: UInt64
  }
  private struct Entry {
    /// The task whose end the request waits for; `nil` if it waits for something else.
    let task: TaskID?
    let waiter: Waiter
    /// Whether the request waits without a limit of time.
    let hasNoTimeout: Bool
    /// The task as committed at its end.
    var outcome: TransferTask?
  }
  private struct State {
    var heads: [TaskID: [@Sendable () -> Void]] = [:]
    var ends: [TaskID: Set<UInt64>] = [:]
    /// The requests that wait for an end.
    var waiting: [UInt64: Entry] = [:]
    var last: UInt64 = 0
    var isDraining = false
    var isLeaving = false
  }
  private let state = Mutex(State())

  /// The number of waiting requests.
  var count: Int { state.withLock { $0.waiting.count + $0.heads.count } }

  /// Whether the service is about to stop.
  var isDraining: Bool { state.withLock { $0.isDraining } }

  /// Notes that the service hands its sessions over.
  func beginLeaving() { state.withLock { $0.isLeaving = true } }
  var isLeaving: Bool { state.withLock { $0.isLeaving || $0.isDraining } }

  /// Ends the waits for tasks that now belong to another service.
  func releaseAll(of tasks: [TaskID]) { resumeEndWaiters(tasks, as: []) }

  /// Ends all waits that have no time limit. Later waits of this kind end at once.
  func beginDraining() {
    let patient = state.withLock { state in
      state.isDraining = true
      return state.waiting.values.filter(\.hasNoTimeout).map(\.waiter)
    }
    for waiter in patient { waiter.resume() }
  }

  // MARK: Response heads

  /// - Parameter action: called when the head has arrived, or can no longer arrive.
  func waitForHead(of task: TaskID, _ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.heads[task, default: []].append(action) }
  }

  /// Notes that the response heads of these tasks have arrived, or can no longer arrive.
  func resumeHeadWaiters(_ tasks: [TaskID]) {
    let actions = state.withLock { state in
      state.heads.isEmpty ? [] : tasks.flatMap { state.heads.removeValue(forKey: $0) ?? [] }
    }
    for action in actions { action() }
  }

  // MARK: Ends

  /// Adds a request that waits for a task's end, or for something else that resumes its waiter. Returns `nil` if the service is about to stop and the request would wait without
  /// a limit.
  func add(_ waiter: Waiter, for task: TaskID?, isPatient: Bool) -> Token? {
    state.withLock { state in
      guard !isPatient || !state.isDraining else { return nil }
      state.last += 1
      state.waiting[state.last] = Entry(task: task, waiter: waiter, hasNoTimeout: isPatient)
      if let task { state.ends[task, default: []].insert(state.last) }
      return Token(number: state.last)
    }
  }

  /// - Returns: the task, if its end is committed and the commit's row is known.
  func remove(_ ticket: Token) -> TransferTask? {
    state.withLock { state in
      guard let entry = state.waiting.removeValue(forKey: ticket.number) else { return nil }
      guard let task = entry.task else { return nil }
      state.ends[task]?.remove(ticket.number)
      if state.ends[task]?.isEmpty == true { state.ends[task] = nil }
      return entry.outcome
    }
  }

  /// Ends a wait whose time has passed.
  func timeOut(_ ticket: Token) { state.withLock { $0.waiting[ticket.number]?.waiter }?.resume() }

  /// Notes that the ends of these tasks are committed.
  /// - Parameter rows: the rows of the commit.
  func resumeEndWaiters(_ tasks: [TaskID], as rows: [TransferTask]) {
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
    resumeHeadWaiters(tasks)
  }
}
