internal import EventLoop
internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// How a step is carried out: what is to be in its commit, what goes behind that in order, and what waits until it holds.
extension MachineRoom {
  func perform(_ step: Step) {
    let session = step.session
    // Before their events are told: who hears of a body finds it.
    for (task, body) in step.turn.openedBodies {
      guard let live = body as? LiveBody else { continue }
      hub.attach(live, of: task, in: session.id, tenant: session.tenant)
    }
    for body in step.turn.droppedUploads { (body as? UploadStream)?.detach() }
    if step.turn.isCarriedElsewhere {
      for (space, credential) in step.turn.credentials {
        engine.credentials.set(credential, for: space, in: session.id)
      }
    }
    var change = StoreChange(step)
    if let retirement = step.turn.retirement { retire(session.id, retirement, into: &change) }
    let (orders, later) = divide(step.turn.orders, behind: change)
    record(change, step, later)
    for action in step.carriedOut { action() }
    carryOut(orders, in: session)
    for alarm in step.turn.alarms { set(alarm) }
    waiters.headsAreThere(step.turn.heads)
    remove(step.turn.unwantedBodies, of: session)
    if let retirement = step.turn.retirement { forget(session.id, retirement) }
  }

  /// - Parameter orders: that wait for the commit.
  private func record(_ change: StoreChange, _ step: Step, _ orders: [Order]) {
    let (session, ended, committed) = (step.session, step.turn.ended, step.committed)
    guard !ended.isEmpty || !committed.isEmpty || !orders.isEmpty else {
      if !change.isEmpty { recorder.record(change) }
      return
    }
    recorder.record(change) { [self] in
      carryOut(orders, in: session)
      release(orders)
      if !ended.isEmpty {
        visit(session.id) { machine, step in _ = machine.take(.endHolds(ended), &step) }
        waiters.haveEnded(ended)
      }
      for action in committed { action() }
    }
  }

  // MARK: Orders

  /// What may go out at once, and what waits for the commit: a request that must be known of, and whatever comes behind it about its task.
  private func divide(_ orders: [Order], behind change: StoreChange) -> (now: [Order], later: [Order]) {
    guard !orders.isEmpty else { return ([], []) }
    return held.withLock { held in
      var (now, later): ([Order], [Order]) = ([], [])
      for order in orders {
        guard let task = order.task, held[task] != nil || order.mustBeKnown && !change.isEmpty else {
          now.append(order)
          continue
        }
        held[task, default: 0] += 1
        later.append(order)
      }
      return (now, later)
    }
  }

  private func release(_ orders: [Order]) {
    guard !orders.isEmpty else { return }
    held.withLock { held in
      for task in orders.compactMap(\.task) { held[task] = held[task] == 1 ? nil : (held[task] ?? 1) - 1 }
    }
  }

  private func carryOut(_ orders: [Order], in session: TransferSession) {
    var jobs: [TransferJob] = []
    for order in orders {
      if case .submit(let task) = order {
        jobs.append(TransferJob(task, in: session))
      } else {
        submit(&jobs)
        carryOut(order, in: session.id)
      }
    }
    submit(&jobs)
  }

  private func submit(_ jobs: inout [TransferJob]) {
    if !jobs.isEmpty { engine.submit(jobs) }
    jobs = []
  }

  private func carryOut(_ order: Order, in session: SessionID) {
    switch order {
    case .submit: assertionFailure("they go together")
    case .suspend(let task): engine.suspend(task, in: session)
    case .resume(let task): engine.resume(task, in: session)
    case .cancel(let task, let keepsPartial): engine.cancel(task, in: session, keepsPartial: keepsPartial)
    case .answer(let task, let question, let answer):
      // The engine numbers all that it asks.
      if let question { engine.answer(task, in: session, to: question, answer) }
    case .setPriority(let task, let priority): engine.setPriority(priority, of: task, in: session)
    case .setLimit(let task, let bytesPerSecond): engine.setLimit(bytesPerSecond, of: task, in: session)
    // It gets tasks when their time has come.
    case .setBeginDate: break
    case .forgetSession: engine.forget(session)
    }
  }

  private func set(_ alarm: Turn.Alarm) {
    switch alarm {
    case .decision(let decision, let task, let seconds):
      deadlines.add(.decision(decision, of: task), after: seconds)
    case .begin(let task, let date): deadlines.add(.begin(task), at: date)
    case .cancelDecision(let decision, let task): deadlines.remove(.decision(decision, of: task))
    case .cancelBegin(let task): deadlines.remove(.begin(task))
    }
  }

  private func remove(_ bodies: [TaskID], of session: TransferSession) {
    guard !bodies.isEmpty else { return }
    let directory = engine.bodies(of: session.id, session.type)
    pool.submit { for task in bodies { directory.remove(task) } }
  }

  // MARK: The end of a session

  /// What was for a session's life only goes with the commit of its end.
  private func retire(_ id: SessionID, _ retirement: Turn.Retirement, into change: inout StoreChange) {
    let isEphemeral = retirement == .ephemeral
    let gone = engine.credentials.remove(in: id) {
      isEphemeral || $0.credential.persistence != .permanent
    }
    if retirement == .background { change.deletedCredentials = gone.map { (id, $0) } }
    if isEphemeral { change.wipedSession = id }
  }

  private func forget(_ id: SessionID, _ retirement: Turn.Retirement) {
    background?.release(id)
    engine.caches?.forget(id)
    guard retirement == .ephemeral else { return }
    engine.memoryFiles.wipe(id, on: pool)
    engine.cookies.forget(id)
  }
}
