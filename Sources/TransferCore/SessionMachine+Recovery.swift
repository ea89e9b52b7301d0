package import TransferModel

/// Recovery of a session that an earlier service left.
extension SessionMachine {
  /// Adds messages that an earlier service left in the outbox.
  package mutating func recover(_ pending: [(id: DeliveryID, isWakeUp: Bool)]) {
    for message in pending {
      if message.isWakeUp { _ = pendingDeliveries?.queue(wakeUp: message.id) }
      pendingDeliveries?.queue(message.id)
    }
  }

  mutating func recover(_ input: SessionInput, at now: InputContext, into effects: inout SessionEffects) {
    switch input {
    case .recovered(let task, let isAhead):
      recover(task, at: now, into: &effects)
      // The task may be evicted next, so its row must name the moved bytes.
      if isAhead, task.state == .suspended, let machine = tasks[task.id],
        Eviction(of: machine, above: residentBytes) != nil
      {
        effects.update(machine.task)
      }
    case .beginApproved(let id):
      tasks.hadBegun(evicted: id)
      change(id) { machine, _ in machine.task.firstAttempt.announce() }
    case .recoverDecision(let id, let decision, let number, let kind, let seconds):
      guard let kind, tasks[id]?.isEnding == false else {
        return effects.decisionOutcomes.append(.init(id: decision, task: id, state: .withdrawn))
      }
      let question = OpenDecision(decision: decision, number: number, kind: kind)
      change(id) { machine, _ in machine.recover(question, seconds: seconds, into: &effects) }
    case .isAtWorker(let id, let elsewhere):
      change(id) { machine, session in machine.foundAtWorker(elsewhere, session, at: now, into: &effects) }
    case .workerTasksKnown(let except):
      for id in tasks.ids {
        change(id) { machine, session in
          machine.missingAtWorker(butPerhaps: except.contains(id), session, at: now, into: &effects)
        }
      }
    case .recoveredAll:
      let continued = interrupted
      interrupted = []
      for id in continued {
        assert(tasks[id] != nil, "an interrupted task was evicted")
        change(id) { machine, session in machine.recover(session, at: now, into: &effects) }
      }
      endIfDone(at: now, into: &effects)
      finishEvents(at: now, into: &effects)
    default: assertionFailure("this input does not belong to a recovery")
    }
  }

  private mutating func recover(
    _ task: TransferTask, at now: InputContext, into effects: inout SessionEffects
  ) {
    tally.recover()
    // The transfer of a task that was being placed has ended, also in the worker.
    guard effects.runsInWorker, task.placement == nil else {
      tasks.insert(TaskMachine(task, at: .idle(goesOn: task.executionState.goesOn)))
      if task.state == .suspended { change(task.id) { _, _ in } } else { interrupted.append(task.id) }
      return
    }
    // The worker may have the task. Until recovery has checked, the task counts as submitted, because a second submission would be an
    // error. Its phase is the one last reported. Worker reports bring later changes.
    tasks.insert(TaskMachine(task, at: .unconfirmed))
  }
}
