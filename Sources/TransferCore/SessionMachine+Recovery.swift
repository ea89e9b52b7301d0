package import TransferModel

/// How a session goes on from what an earlier process left.
extension SessionMachine {
  /// Messages that an earlier process left in the outbox.
  package mutating func recover(_ pending: [(id: DeliveryID, isWakeUp: Bool)]) {
    for message in pending {
      if message.isWakeUp { _ = handover?.queue(wakeUp: message.id) }
      handover?.queue(message.id)
    }
  }

  mutating func recover(_ input: Input, at now: Now, into turn: inout Turn) {
    switch input {
    case .recovered(let task, let isAhead):
      recover(task, at: now, into: &turn)
      // Where it is evicted, the row is all that is left of it.
      if isAhead, task.state == .suspended, let machine = tasks[task.id],
        Eviction(of: machine, above: residentBytes) != nil
      {
        turn.update(machine.task)
      }
    case .hadBegun(let id):
      tasks.hadBegun(evicted: id)
      change(id) { machine, _ in machine.task.beginning.announce() }
    case .waits(let id, let decision, let number, let kind, let seconds):
      guard let kind, tasks[id]?.isEnding == false else {
        return turn.settlements.append(.init(id: decision, task: id, state: .withdrawn))
      }
      let question = Question(decision: decision, number: number, kind: kind)
      change(id) { machine, _ in machine.recover(question, seconds: seconds, into: &turn) }
    case .isElsewhere(let id, let elsewhere):
      change(id) { machine, session in machine.isThere(elsewhere, session, at: now, into: &turn) }
    case .allElsewhereKnown(let except):
      for id in tasks.ids {
        change(id) { machine, session in
          machine.isNowhere(butPerhaps: except.contains(id), session, at: now, into: &turn)
        }
      }
    case .recoveredAll:
      let continued = interrupted
      interrupted = []
      for id in continued {
        assert(tasks[id] != nil, "an interrupted task was evicted")
        change(id) { machine, session in machine.recover(session, at: now, into: &turn) }
      }
      endIfDone(at: now, into: &turn)
      finishEvents(at: now, into: &turn)
    default: assertionFailure("no input of a recovery")
    }
  }

  private mutating func recover(_ task: TransferTask, at now: Now, into turn: inout Turn) {
    tally.recover()
    guard turn.isCarriedElsewhere else {
      tasks.insert(TaskMachine(task, at: .idle(goesOn: task.place.goesOn)))
      if task.state == .suspended { change(task.id) { _, _ in } } else { interrupted.append(task.id) }
      return
    }
    // Another process may have the task. Until that is found out it is taken for one that was handed over, since that must not happen
    // twice. Its phase is as it was told last; what has changed since then is told by news.
    tasks.insert(TaskMachine(task, at: .uncertain))
  }
}
