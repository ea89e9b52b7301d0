internal import EngineAPI
internal import Ledger
internal import TransferCore
internal import TransferModel

/// How a step is carried out: what is to be in its commit, what goes behind that in order, and what waits until it holds.
extension MachineRoom {
  func perform(_ step: Step) {
    let session = step.session
    // Before their events are told: who hears of a body finds it.
    for (task, body) in step.turn.openedBodies {
      guard let live = body as? LiveBody else { continue }
      hub.attach(live, of: task, in: session.id, tenant: session.tenant)
    }
    for body in step.turn.droppedUploads { body.detach() }
    for (space, credential) in step.turn.credentials {
      engine.storages.update(session.id) { [engine] in
        engine.credentials.apply(credential, for: space, to: session.id)
      }
    }
    var change = StoreChange(step)
    if let retirement = step.turn.retirement {
      removals.retire(session.id, retirement, into: &change, recorder)
    }
    let (now, later) = orders.divide(step.turn.orders, behind: change)
    if let creation = step.creation {
      write(change, creation, in: session.id)
    } else {
      record(change, step, later)
    }
    RequestSpool(room: self).shareFiles(in: step.turn, of: session)
    orders.carryOut(now, in: session, writing: stamp)
    for alarm in step.turn.alarms { deadlines.set(alarm) }
    waiters.headsAreThere(step.turn.heads)
    if let retirement = step.turn.retirement { removals.forget(session.id, retirement) }
  }

  /// - Parameter later: orders that wait for the commit.
  private func record(_ change: StoreChange, _ step: Step, _ later: [Order]) {
    let (session, ended, settled) = (step.session, step.turn.ended, step.settled)
    // If a crash undoes the step, they are wanted after all.
    let unwanted = step.turn.unwantedBodies
    let evictions = step.turn.evictions
    guard
      !ended.isEmpty || !settled.isEmpty || !later.isEmpty || !evictions.isEmpty || !unwanted.isEmpty
    else {
      if !change.isEmpty { recorder.record(change) }
      return
    }
    let rows = waiters.count > 0 ? change.updatedTasks : []
    recorder.record(change) { [self] isWritten in
      if isWritten {
        orders.carryOut(later, in: session, writing: stamp)
        removals.remove(unwanted, of: session)
      }
      orders.release(later)
      if isWritten, !ended.isEmpty {
        visit(session.id) { machine, step in _ = machine.take(.endHolds(ended), &step) }
        waiters.haveEnded(ended, as: rows)
      }
      if isWritten, !evictions.isEmpty {
        visit(session.id) { machine, step in _ = machine.take(.evict(evictions), &step) }
      }
      for action in settled { action(isWritten) }
    }
  }

  /// Nothing comes of a creation until it is committed: no order, and no end.
  private func write(_ change: StoreChange, _ creation: Creation, in session: SessionID) {
    let messages = change.newDeliveries.map(\.id)
    recorder.write(change) { [self] error in
      endCreation(of: creation.tasks, in: session, refused: error == nil ? nil : messages)
      creation.decided(error)
    }
  }

  /// Nothing happens to a session any more because its time has come.
  func stopClocks(of session: SessionID) {
    for alarm in look(at: session, \.cancelledAlarms) ?? [] { deadlines.set(alarm) }
  }
}
