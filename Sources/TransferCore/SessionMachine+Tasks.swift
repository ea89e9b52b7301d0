internal import TransferModel

/// Creating tasks, asking about them, and forgetting them.
extension SessionMachine {
  /// Why the session takes no more tasks now; nil: it takes them.
  package func refusal(ofTasks count: Int) -> Refusal? {
    guard session.state == .active else { return .sessionInvalid }
    return tally.hasRoom(for: count) ? nil : .tooManyTasks(limit: tally.limit)
  }

  mutating func create(_ wanted: [NewTask], at now: Now, into turn: inout Turn) -> Reply {
    assert(!session.isOutline)
    if let refusal = refusal(ofTasks: wanted.count) { return .refused(refusal) }
    let first = tally.take(wanted.count)
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
      turn.tell(.taskDidCreate, at: now.wall, .created(task), of: task, in: session)
      if task.state == .running { turn.tell(task.stateEvent(at: now.wall), of: task, in: session) }
    }
    turn.created += created
    turn.lastIdentifier = created.last?.taskIdentifier
    return .created(created)
  }

  mutating func created(_ ids: [TaskID], at now: Now, into turn: inout Turn) {
    let isCancelled = cancelsTasks
    for id in ids {
      change(id) { machine, session in
        assert(machine.isCreating)
        machine.place = .idle(goesOn: false)
        if isCancelled { machine.cancel(keepsPartial: false, session, at: now, into: &turn) }
      }
    }
  }

  mutating func endHolds(_ ids: [TaskID], at now: Now, into turn: inout Turn) {
    var count = 0
    for id in ids where tasks.remove(id) != nil {
      count += 1
      // An engine may still tell the end of a data task that goes on as a download.
      if !continued.isContinued(id) { turn.forgotten.append(id) }
    }
    for id in ids {
      if let dataTask = continued.remove(id) { turn.forgotten.append(dataTask) }
    }
    release(count, at: now, into: &turn)
  }

  /// Tasks are gone: the session may have told everything, and may be over.
  mutating func release(_ count: Int, at now: Now, into turn: inout Turn) {
    tally.release(count)
    assert(unfinished >= tasks.count)
    finishEvents(at: now, into: &turn)
    endIfDone(at: now, into: &turn)
  }

  // MARK: Delegates

  mutating func answer(
    _ id: TaskID, _ decision: DecisionID, _ answer: DecisionAnswer, _ shown: [UInt8], _ tag: [UInt8]?,
    at now: Now, into turn: inout Turn
  ) -> Reply {
    guard let machine = tasks[id], !machine.isEnding, machine.question?.decision == decision else {
      return .refused(.decisionSettled)
    }
    if case .response(.becomeDownload) = answer {
      becomeDownload(id, shown, at: now, into: &turn)
    } else {
      change(id) {
        _ = $0.answer(decision, answer, shown: shown, tag: tag, $1, at: now, into: &turn)
      }
    }
    return .done
  }

  /// Nothing stands against that: a task of the session goes on under another name.
  private mutating func becomeDownload(
    _ id: TaskID, _ shown: [UInt8], at now: Now, into turn: inout Turn
  ) {
    let identifier = tally.take(1)
    turn.lastIdentifier = identifier
    var download: TaskMachine?
    change(id) { machine, session in
      let question = machine.settle(.answered, answer: shown, session, at: now.wall, into: &turn)
      download = machine.becomeDownload(
        question?.number, taskIdentifier: identifier, session, at: now, into: &turn)
    }
    guard let download else { return }
    tasks.insert(download)
    continued.insert(id, as: download.id)
  }

  mutating func offer(
    _ body: any BodyToken, length: Int64?, of id: TaskID, at now: Now, into turn: inout Turn
  ) -> Reply {
    guard let known = tasks[id], !known.isEnding else { return .over }
    guard !known.isCreating else { return .creating }
    var refusal: TaskUpload.Refusal?
    change(id) { machine, session in
      do throws(TaskUpload.Refusal) {
        try machine.offer(body, length: length, session, at: now, into: &turn)
      } catch {
        refusal = error
      }
    }
    return refusal.map { .refused(.upload($0)) } ?? .task(known.task)
  }
}
