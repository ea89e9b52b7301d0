internal import TransferModel

/// Creating tasks, asking about them, and forgetting them.
extension SessionMachine {
  func refusal(ofMore count: Int) -> Refusal? {
    if session.state != .active { return .sessionInvalid }
    return unfinished + count <= limit ? nil : .tooManyTasks(limit: limit)
  }

  mutating func admit(_ count: Int, into turn: inout Turn) -> Reply {
    if let refusal = refusal(ofMore: count) { return .refused(refusal) }
    return .admitted(first: takeIdentifiers(count), session)
  }

  /// Counts tasks that are to be, and gives the first one's identifier.
  private mutating func takeIdentifiers(_ count: Int) -> Int {
    unfinished += count
    lastIdentifier += count
    return lastIdentifier - count + 1
  }

  mutating func create(_ created: [TransferTask]) {
    for task in created { tasks.insert(TaskMachine(task, at: .creating)) }
  }

  mutating func created(_ ids: [TaskID], at now: Now, into turn: inout Turn) {
    let isCancelled = cancelsTasks
    for id in ids {
      change(id) { machine, session in
        machine.created(session, at: now, into: &turn)
        if isCancelled { machine.cancel(keepsPartial: false, session, at: now, into: &turn) }
      }
    }
  }

  mutating func refused(_ count: Int, _ ids: [TaskID], at now: Now, into turn: inout Turn) {
    for id in ids { _ = tasks.remove(id) }
    release(count, at: now, into: &turn)
  }

  mutating func endHolds(_ ids: [TaskID], at now: Now, into turn: inout Turn) {
    let removed = ids.count { tasks.remove($0) != nil }
    if !downloads.isEmpty { downloads = downloads.filter { !ids.contains($0.value) } }
    release(removed, at: now, into: &turn)
  }

  /// Tasks are gone: the session may have told everything, and may be over.
  private mutating func release(_ count: Int, at now: Now, into turn: inout Turn) {
    if !Flaw.countsNothingDown.isPresent { unfinished -= count }
    assert(unfinished >= 0 && unfinished >= tasks.count)
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
    let identifier = takeIdentifiers(1)
    turn.lastIdentifier = identifier
    var download: TaskMachine?
    change(id) { machine, session in
      let question = machine.settle(.answered, answer: shown, session, at: now.wall, into: &turn)
      download = machine.becomeDownload(
        question?.number, taskIdentifier: identifier, session, at: now, into: &turn)
    }
    guard let download else { return }
    tasks.insert(download)
    downloads[id] = download.id
  }

  mutating func offer(
    _ body: any BodyToken, length: Int64?, of id: TaskID, at now: Now, into turn: inout Turn
  ) -> Reply {
    guard let known = tasks[id], !known.isEnding else { return .over }
    guard !known.isCreating else { return .creating }
    var refusal: TaskMachine.UploadRefusal?
    change(id) { machine, session in
      do throws(TaskMachine.UploadRefusal) {
        try machine.offer(body, length: length, session, at: now, into: &turn)
      } catch {
        refusal = error
      }
    }
    return refusal.map { .refused(.upload($0)) } ?? .task(known.task)
  }
}
