package import TransferModel

/// Invalidation of the session.
extension SessionMachine {
  /// Stops the session from accepting tasks. The session becomes invalid when its last task has ended. Clients may repeat the call.
  mutating func invalidate(at now: InputContext, into effects: inout SessionEffects) -> InputResult {
    guard session.state == .active else { return .session(session) }
    assert(!session.isOutline)
    session.state = .invalidating
    effects.sessionRow = session
    endIfDone(at: now, into: &effects)
    return .session(session)
  }

  /// Makes an invalidating session without tasks invalid.
  mutating func endIfDone(at now: InputContext, into effects: inout SessionEffects) {
    guard session.state == .invalidating, unfinished == 0 else { return }
    assert(!session.isOutline)
    session.state = .invalid
    session.owesFinishedEvents = false
    pendingDeliveries = nil
    effects.sessionRow = session
    effects.emit(
      TransferEvent(.sessionDidBecomeInvalid, at: now.wall, session: session.id, .invalidated), of: nil,
      in: session)
    switch session.type {
    case .default: effects.retirement = .keepsStored
    case .background: effects.retirement = .background
    case .ephemeral: effects.retirement = .ephemeral
    }
    effects.send(.releaseSession)
  }

  /// Returns the unfinished tasks in the order of their cancellation: tasks that have not begun first, then newest first. This order starts
  /// no task that is about to be cancelled. Tasks created from now on are cancelled before they begin.
  package mutating func tasksToCancel() -> [TaskID] {
    cancelsTasks = true
    let found = tasks.ids.compactMap { id in
      tasks[id].map { (id: id, hasBegun: $0.task.startedAt != nil, number: $0.task.taskIdentifier) }
        ?? tasks.evicted[id].map {
          (id: id, hasBegun: $0.firstAttempt.startedAt != nil, number: $0.taskIdentifier)
        }
    }
    return found.sorted { left, right in
      left.hasBegun == right.hasBegun ? left.number > right.number : right.hasBegun
    }.map(\.id)
  }

  mutating func cancel(_ ids: [TaskID], at now: InputContext, into effects: inout SessionEffects) {
    for id in ids {
      change(id) { machine, session in
        // Tasks in creation are cancelled after their commit, before they begin.
        guard !machine.isCreating else { return }
        machine.cancel(keepsPartial: false, session, at: now, into: &effects)
      }
    }
  }
}
