internal import TransferModel

/// The sessions and the unfinished tasks, as they are now. A plain value; `TransferService` locks it.
struct TransferRegistry {
  struct SessionEntry {
    var session: TransferSession
    var lastIdentifier: Int
    /// Tasks that have not ended, those being created included.
    var unfinished = 0
  }
  struct TaskEntry {
    var task: TransferTask
    /// The engine knows it.
    var isSubmitted = false
    /// It has ended; the commit that says so is under way.
    var isEnding = false
    var waiters: [UInt64: @Sendable () -> Void] = [:]
  }

  var sessions: [SessionID: SessionEntry] = [:]
  var tasks: [TaskID: TaskEntry] = [:]
  var isDraining = false
  private var nextWaiter: UInt64 = 0

  /// Makes room for `count` tasks and gives the identifier of the first.
  mutating func reserve(_ count: Int, in id: SessionID, limit: Int) throws(ServiceError) -> Int {
    guard !isDraining else { throw .draining }
    guard let entry = sessions[id] else { throw .sessionNotFound }
    guard entry.session.state == .active else { throw .sessionInvalid }
    guard entry.unfinished + count <= limit else { throw .tooManyTasks(limit: limit) }
    sessions[id]?.unfinished += count
    sessions[id]?.lastIdentifier += count
    return entry.lastIdentifier + 1
  }

  /// A task ended, or was not created after all. True where the session has become invalid by it.
  mutating func release(_ count: Int, in id: SessionID) -> Bool {
    guard var entry = sessions[id] else { return false }
    entry.unfinished -= count
    defer { sessions[id] = entry }
    guard entry.unfinished == 0, entry.session.state == .invalidating else { return false }
    entry.session.state = .invalid
    return true
  }

  /// Calls `action` once the task's end is committed; nil where it has ended already.
  mutating func wait(for task: TaskID, _ action: @escaping @Sendable () -> Void) -> UInt64? {
    guard tasks[task] != nil else { return nil }
    nextWaiter += 1
    tasks[task]?.waiters[nextWaiter] = action
    return nextWaiter
  }
}
