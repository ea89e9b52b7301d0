internal import EngineAPI
internal import Ledger
internal import TransferCore
internal import TransferModel

/// Carries out transitions: the parts inside the commit, the parts that follow in order without waiting, and the parts after the
/// commit.
extension SessionRuntime {
  func perform(_ step: SessionTransition) {
    let session = step.session
    // The bodies are attached before their events are published, so that a reader of the event finds the body.
    for (task, body) in step.effects.openedBodies {
      guard let live = body as? LiveBody else { continue }
      hub.attach(live, of: task, in: session.id, step.effects.tags[task], tenant: session.tenant)
    }
    for body in step.effects.droppedUploads { body.cancel() }
    for (space, credential) in step.effects.credentials {
      engine.storages.update(session.id) { [engine] in
        engine.credentials.apply(credential, for: space, to: session.id)
      }
    }
    var change = LedgerChange(step, endpoints, recorder.store)
    if let retirement = step.effects.retirement {
      remover.retire(session.id, retirement, into: &change, recorder)
    }
    let (now, later) = commands.partition(step.effects.engineCommands, behind: change)
    if let creation = step.creation {
      write(change, creation, in: session.id)
    } else {
      record(change, step, later)
    }
    RequestSpool(runtime: self).shareFiles(in: step.effects, of: session)
    commands.dispatch(now, in: session, writing: stamp)
    place(step.effects.placements, of: session)
    for timer in step.effects.timers { deadlines.set(timer) }
    apply(step.effects.trials)
    waiters.resumeHeadWaiters(step.effects.respondedTasks)
    if let retirement = step.effects.retirement { remover.dropFromMemory(session.id, retirement) }
  }

  /// - Parameter later: commands that wait for the commit.
  private func record(_ change: LedgerChange, _ step: SessionTransition, _ later: [TransferCommand]) {
    let (session, ended, settled) = (step.session, step.effects.ended, step.onCommit)
    // The bodies are deleted after the commit only. If a crash undoes the transition, they are still needed.
    let unwanted = step.effects.unwantedBodies
    let (evictions, renames) = (step.effects.evictions, step.effects.renames)
    guard
      !ended.isEmpty || !settled.isEmpty || !later.isEmpty || !evictions.isEmpty || !unwanted.isEmpty
        || !renames.isEmpty
    else {
      if !change.isEmpty { recorder.record(change) }
      return
    }
    let rows = waiters.count > 0 ? change.updatedTasks : []
    let groups = Set(
      change.updatedTasks.lazy.filter { $0.state == .completed }.compactMap(\.group)
        .map { TaskGroupKey(tenant: session.tenant, name: $0) })
    recorder.record(change) { [self] isWritten in
      if isWritten {
        commands.dispatch(later, in: session, writing: stamp)
        remover.remove(unwanted, of: session)
        place(renames, of: session)
      }
      commands.release(later)
      if isWritten, !ended.isEmpty {
        update(session.id) { machine, step in _ = machine.apply(.endsCommitted(ended), &step) }
        waiters.resumeEndWaiters(ended, as: rows)
      }
      if isWritten, !groups.isEmpty { groupCallback.deliver(groups) }
      if isWritten, !evictions.isEmpty {
        update(session.id) { machine, step in _ = machine.apply(.evict(evictions), &step) }
      }
      for action in settled { action(isWritten) }
    }
  }

  /// Commits new tasks. Their commands and ends follow only after the commit.
  private func write(_ change: LedgerChange, _ creation: TaskCreation, in session: SessionID) {
    let messages = change.newDeliveries.map(\.id)
    recorder.write(change) { [self] error in
      endCreation(of: creation.tasks, in: session, refused: error == nil ? nil : messages)
      creation.onDecision(error)
    }
  }

  private func place(_ steps: [PlacementStep], of session: TransferSession) {
    guard !steps.isEmpty else { return }
    let id = session.id
    placer.perform(steps, bodies: engine.bodies(of: id, session.type), epoch: stamp.epoch) {
      [self] task, report in
      update(id) { machine, step in _ = machine.apply(.placement(task, report), &step) }
    }
  }

  /// Cancels all timers of a session.
  func stopClocks(of session: SessionID) {
    for timer in read(at: session, \.cancelledAlarms) ?? [] { deadlines.set(timer) }
  }
}
