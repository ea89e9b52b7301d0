#if DEBUG
  @testable import TransferCore
  internal import TransferModel

  /// Deliberate faults around the machines: each drops or alters an input, the state or an outcome.
  struct MachineFaults: FaultInjector {
    let flaw: InjectedFault

    // MARK: A session's machine

    func handle(
      _ input: SessionInput, at now: InputContext, into turn: inout SessionEffects,
      by machine: inout SessionMachine
    ) -> InputResult {
      let before = StateBefore(input, turn, machine)
      guard !isLost(input) else { return .done }
      prepare(input, &machine)
      let reply = machine.decide(input, at: now, into: &turn)
      change(input, before, at: now, &turn, &machine)
      return reply
    }

    /// The state that an input concerns, before the input.
    private struct StateBefore {
      let task: TaskMachine?
      let owesFinishedEvents: Bool
      let settlements: Int

      init(_ input: SessionInput, _ turn: SessionEffects, _ machine: SessionMachine) {
        task = input.subject(in: machine).flatMap { machine.task($0) }
        owesFinishedEvents = machine.session.owesFinishedEvents
        settlements = turn.decisionOutcomes.count
      }
    }

    private func isLost(_ input: SessionInput) -> Bool {
      switch (flaw, input) {
      case (.ignoresTheExpiry, .decisionExpired), (.settlesNoMessage, .settled): true
      default: false
      }
    }

    private func prepare(_ input: SessionInput, _ machine: inout SessionMachine) {
      switch (flaw, input) {
      case (.countsNothingDown, .endsCommitted(let ids)), (.countsNothingDown, .refused(let ids, _)):
        machine.tally.unfinished += ids.count
      case (.asksTheCancelled, .fact(.asked(let id, _, _, _))):
        machine.tasks.change(id) {
          if $0.task.state == .canceling {
            $0.task.lifecycle = TaskLifecycle(state: .running, suspendCount: 0)
          }
        }
      case (.finishesNoEvents, _): machine.session.owesFinishedEvents = false
      case (.retriesAfterTheResponse, .fact(.ended(let id, _))):
        machine.tasks.change(id) { $0.task.response = nil }
      default: break
      }
    }

    private func change(
      _ input: SessionInput, _ before: StateBefore, at now: InputContext, _ turn: inout SessionEffects,
      _ machine: inout SessionMachine
    ) {
      switch flaw {
      case .endsTwice:
        guard let task = before.task, !task.isEnding else { break }
        machine.tasks.change(task.id) { $0.task.executionState = task.task.executionState }
      case .withdrawsNothing:
        turn.decisionOutcomes.removeAll { $0.state == .withdrawn && turn.ended.contains($0.task) }
      case .handsNothingOver:
        turn.engineCommands.removeAll { $0.isSubmission }
        turn.workerCommands.removeAll { $0.isSubmission }
      case .answersTwice:
        guard let task = before.task, let question = task.question,
          turn.decisionOutcomes[before.settlements...].contains(where: { $0.id == question.decision })
        else { break }
        machine.tasks.change(task.id) { $0.question = $0.question ?? question }
      case .finishesNoEvents:
        if machine.session.state != .invalid, before.owesFinishedEvents {
          machine.session.owesFinishedEvents = true
        }
      case .becomesInvalidTooEarly:
        guard case .invalidate = input, machine.unfinished > 0 else { break }
        let tally = machine.tally
        machine.tally.unfinished = 0
        machine.endIfDone(at: now, into: &turn)
        machine.tally = tally
      case .showsTheFailedAttempt:
        guard case .fact(.response(let id, let response, _, let time)) = input,
          let held = machine.task(id), held.attempt?.heldResponse != nil
        else { break }
        turn.emit(
          .dataTaskDidReceiveResponse, at: time, .response(response), of: held.task, in: machine.session)
      case .startsFormerRequests:
        turn.engineCommands = turn.engineCommands.map { $0.withOriginalRequest }
        turn.workerCommands.removeAll { $0.changesRequest }
      case .losesRequestChanges:
        guard case .change(let id, let patch) = input, patch.request != nil else { break }
        turn.updated.removeAll { $0.id == id }
      case .losesTheRetryTimer: turn.timers.removeAll { if case .retry = $0 { true } else { false } }
      case .asksTheCancelled:
        guard let task = before.task, task.task.state == .canceling else { break }
        machine.tasks.change(task.id) { $0.task.lifecycle = task.task.lifecycle }
      default: break
      }
    }

    // MARK: The worker's machine

    func handle(
      _ input: WorkerInput, at now: InputContext, into turn: inout WorkerEffects,
      by machine: inout WorkerMachine
    ) {
      if flaw == .forgetsWhatIsWritten, case .attemptCommitted = input { return }
      let (before, finished) = (machine, turn.finished)
      machine.decide(changed(input, machine), at: now, into: &turn)
      switch flaw {
      case .submitsBeforeTheRow:
        for (id, _) in turn.written {
          if let attempt = machine.attempts[id] {
            turn.engineCommands.append(.submit(attempt.submission(at: now.wall)))
          }
        }
        turn.written = []
      case .dropsTheNextAttempt: turn.timers.removeAll { if case .retry = $0 { true } else { false } }
      case .dropsTheBeginDate: turn.timers.removeAll { if case .begin = $0 { true } else { false } }
      case .leavesItsRow: turn.finished = finished
      case .forgetsToTellTheEnd: turn.facts.removeAll { if case .ended = $0 { true } else { false } }
      case .staysActive:
        for id in before.discretion.active.subtracting(machine.discretion.active) {
          machine.discretion.begin(id, isDiscretionary: before.attempts[id]?.isDiscretionary ?? false)
        }
      case .yieldsOnItsConnection:
        for id in machine.discretion.active { machine.attempts.change(id) { $0.isInFlight = false } }
      case .releasesNobody:
        var discretion = before.discretion
        let released = discretion.release().filter { !machine.discretion.yields($0) }
        turn.engineCommands.removeAll { $0.task.map(released.contains) ?? false }
      case .staysHeld:
        guard case .fact(.began(let id, _)) = input, before.discretion.yields(id) else { break }
        machine.discretion.yield(id)
        turn.engineCommands.removeAll { if case .command(.resume, id, _) = $0 { true } else { false } }
      default: break
      }
    }

    private func changed(_ input: WorkerInput, _ machine: WorkerMachine) -> WorkerInput {
      guard flaw == .ignoresTheQuestionsNumber, case .command(.answer(let answer, _), let id) = input,
        let questions = machine.attempts[id]?.state.decisionCount
      else { return input }
      return .command(.answer(answer, question: questions), id)
    }
  }

  extension SessionInput {
    /// Returns the task that the input concerns; `nil` if it concerns none.
    fileprivate func subject(in machine: SessionMachine) -> TaskID? {
      switch self {
      case .resume(let id), .suspend(let id), .cancel(let id, _), .answer(let id, _, _, _, _),
        .offer(let id, _, _), .decisionExpired(let id, _), .begin(let id):
        id
      case .fact(let fact): machine.continued.subject(of: fact)
      default: nil
      }
    }
  }

  extension TransferCommand {
    fileprivate var changesRequest: Bool {
      if case .command(.changeRequest, _) = self { true } else { false }
    }

    fileprivate var withOriginalRequest: TransferCommand {
      guard case .submit(var task) = self else { return self }
      task.currentRequest = task.originalRequest
      return .submit(task)
    }

    fileprivate var isSubmission: Bool { if case .submit = self { true } else { false } }
  }

  extension WorkerEffects.EngineCommand {
    /// The task that the command starts or continues.
    fileprivate var task: TaskID? {
      switch self {
      case .submit(let submission): submission.task.id
      case .command(.resume, let id, _): id
      default: nil
      }
    }
  }

  extension InjectedFault {
    package func whilePresent<Result>(_ body: () throws -> Result) rethrows -> Result {
      try InjectedFault.$present.withValue(self) {
        try InjectedFault.$injector.withValue(MachineFaults(flaw: self), operation: body)
      }
    }
  }
#endif
