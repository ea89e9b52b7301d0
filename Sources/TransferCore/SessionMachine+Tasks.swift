internal import TransferModel

/// Creation of tasks, their decisions, and their removal.
extension SessionMachine {
  /// Returns why the session cannot accept this many tasks now; `nil` if it can.
  package func refusal(ofTasks count: Int) -> InputRefusal? {
    guard session.state == .active else { return .sessionInvalid }
    return tally.hasRoom(for: count) ? nil : .tooManyTasks(limit: tally.limit)
  }

  mutating func create(_ wanted: [NewTask], at now: InputContext, into effects: inout SessionEffects)
    -> InputResult
  {
    assert(!session.isOutline)
    if let refusal = refusal(ofTasks: wanted.count) { return .refused(refusal) }
    let first = tally.reserve(wanted.count)
    let secrets = session.configuration.secretHeaderFields
    let created = wanted.indices.map { index in
      var specification = wanted[index].specification
      if !secrets.isEmpty { specification.request.secretHeaderFields = secrets }
      var task = TransferTask(
        id: wanted[index].id, sessionID: session.id, taskIdentifier: first + index, createdAt: now.wall,
        specification: specification)
      if specification.resume { _ = task.lifecycle.resume() }
      return task
    }
    for task in created {
      tasks.insert(TaskMachine(task, at: .creating))
      effects.emit(.taskDidCreate, at: now.wall, .created(task), of: task, in: session)
      if task.state == .running { effects.emit(task.stateEvent(at: now.wall), of: task, in: session) }
    }
    effects.created += created
    // The received body is in another column of the row than the specification.
    for task in created where task.placement != nil { effects.update(task) }
    effects.lastIdentifier = created.last?.taskIdentifier
    return .created(created)
  }

  mutating func created(_ ids: [TaskID], at now: InputContext, into effects: inout SessionEffects) {
    let isCancelled = cancelsTasks
    for id in ids {
      change(id) { machine, session in
        assert(machine.isCreating)
        machine.executionState = .idle(goesOn: false)
        if isCancelled { machine.cancel(keepsPartial: false, session, at: now, into: &effects) }
      }
    }
  }

  mutating func endHolds(_ ids: [TaskID], at now: InputContext, into effects: inout SessionEffects) {
    var count = 0
    for id in ids where tasks.remove(id) != nil {
      count += 1
      // An engine may still report the end of a data task that became a download.
      if !continued.isContinued(id) { effects.forgotten.append(id) }
    }
    for id in ids {
      if let dataTask = continued.remove(id) { effects.forgotten.append(dataTask) }
    }
    release(count, at: now, into: &effects)
  }

  /// Releases the room of ended tasks. The session may now have delivered everything, or may become invalid.
  mutating func release(_ count: Int, at now: InputContext, into effects: inout SessionEffects) {
    tally.release(count)
    assert(unfinished >= tasks.count)
    finishEvents(at: now, into: &effects)
    endIfDone(at: now, into: &effects)
  }

  // MARK: Delegates

  mutating func answer(
    _ id: TaskID, _ decision: DecisionID, _ answer: DecisionAnswer, _ shown: [UInt8], _ tag: [UInt8]?,
    at now: InputContext, into effects: inout SessionEffects
  ) -> InputResult {
    guard let machine = tasks[id], !machine.isEnding, machine.question?.decision == decision else {
      return .refused(.decisionSettled)
    }
    if case .response(.becomeDownload) = answer {
      becomeDownload(id, shown, at: now, into: &effects)
    } else {
      change(id) {
        _ = $0.answer(decision, answer, shown: shown, tag: tag, $1, at: now, into: &effects)
      }
    }
    return .done
  }

  /// Replaces a data task by a download. The limit of tasks does not apply, because the data task ends at once.
  private mutating func becomeDownload(
    _ id: TaskID, _ shown: [UInt8], at now: InputContext, into effects: inout SessionEffects
  ) {
    let identifier = tally.reserve(1)
    effects.lastIdentifier = identifier
    var download: TaskMachine?
    change(id) { machine, session in
      let question = machine.settle(.answered, answer: shown, session, at: now.wall, into: &effects)
      download = machine.becomeDownload(
        question?.number, taskIdentifier: identifier, session, at: now, into: &effects)
    }
    guard let download else { return }
    tasks.insert(download)
    continued.insert(id, as: download.id)
  }

  mutating func offer(
    _ body: any BodyToken, length: Int64?, of id: TaskID, at now: InputContext,
    into effects: inout SessionEffects
  ) -> InputResult {
    guard let known = tasks[id], !known.isEnding else { return .ended }
    guard !known.isCreating else { return .creating }
    var refusal: TaskUpload.Refusal?
    change(id) { machine, session in
      do throws(TaskUpload.Refusal) {
        try machine.offer(body, length: length, session, at: now, into: &effects)
      } catch {
        refusal = error
      }
    }
    return refusal.map { .refused(.upload($0)) } ?? .task(known.task)
  }
}
