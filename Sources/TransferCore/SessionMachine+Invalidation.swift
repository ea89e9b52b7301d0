package import TransferModel

/// How a session ends.
extension SessionMachine {
  /// The session takes no more tasks, and is invalid once it has none. Asking again is no error.
  mutating func invalidate(at now: Now, into turn: inout Turn) -> Reply {
    guard session.state == .active else { return .session(session) }
    assert(!session.isOutline)
    session.state = .invalidating
    turn.sessionRow = session
    endIfDone(at: now, into: &turn)
    return .session(session)
  }

  /// A session that takes no more tasks and has none is over.
  mutating func endIfDone(at now: Now, into turn: inout Turn) {
    guard session.state == .invalidating, unfinished == 0 else { return }
    assert(!session.isOutline)
    session.state = .invalid
    session.owesFinishedEvents = false
    handover = nil
    turn.sessionRow = session
    turn.tell(
      TransferEvent(.sessionDidBecomeInvalid, at: now.wall, session: session.id, .invalidated), of: nil,
      in: session)
    switch session.type {
    case .default: turn.retirement = .keepsStored
    case .background: turn.retirement = .background
    case .ephemeral: turn.retirement = .ephemeral
    }
    turn.order(.forgetSession)
  }

  /// The unfinished tasks: those that have not begun first, the newest of them before the others. So none begins because another
  /// was cancelled. What is created from here on is cancelled before it begins.
  package mutating func tasksToCancel() -> [TaskID] {
    cancelsTasks = true
    let found = tasks.ids.compactMap { id in
      tasks[id].map { (id: id, hasBegun: $0.task.startedAt != nil, number: $0.task.taskIdentifier) }
        ?? tasks.evicted[id].map {
          (id: id, hasBegun: $0.beginning.startedAt != nil, number: $0.taskIdentifier)
        }
    }
    return found.sorted { left, right in
      left.hasBegun == right.hasBegun ? left.number > right.number : right.hasBegun
    }.map(\.id)
  }

  mutating func cancel(_ ids: [TaskID], at now: Now, into turn: inout Turn) {
    for id in ids {
      change(id) { machine, session in
        // Those that are being created are cancelled before they begin.
        guard !machine.isCreating else { return }
        machine.cancel(keepsPartial: false, session, at: now, into: &turn)
      }
    }
  }
}
