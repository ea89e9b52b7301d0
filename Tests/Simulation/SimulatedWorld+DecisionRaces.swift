internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

/// Open decisions, and events that race with their answers.
extension SimulatedWorld {
  /// Lets several events race with an open decision. Clients answer it late, twice or differently. Its task is suspended, cancelled or
  /// ends. Its session is invalidated. Another attempt takes over and requests another decision.
  func raceDecision(_ luck: inout RandomSource) {
    guard let id = question(&luck), let decision = chronicle.decisions[id]?.decision else { return }
    // Each run lets a different number of commits succeed before this point.
    goOn([0, 1, 3, 4, 5, 6], 8, &luck)
    for _ in 0...(1 + luck.below(5)) {
      freezeDuringDownload(decision, plan.kinds.crossings.pick(&luck), &luck)
      if luck.chance(400) { goOn([0, 1, 2, 3, 4, 5, 6], 10, &luck) }
    }
  }

  /// Returns an open decision. If there is none, tasks that may request one are created.
  private func question(_ luck: inout RandomSource) -> DecisionID? {
    if let id = pendingQuestion(&luck) { return id }
    guard plan.kinds.asks else { return nil }
    let asking = chronicle.sessionOrder.filter { id in
      guard let story = chronicle.sessions[id], !story.isBeingDeleted else { return false }
      return story.session.state == .active && story.session.delegate?.asksAnything == true
    }
    createTasks(1 + luck.below(4), in: luck.pick(asking), &luck)
    goOn(&luck) { _ in chronicle.pendingDecisions > 0 }
    return pendingQuestion(&luck)
  }

  /// Prefers decisions of background tasks, because their answers take more steps.
  private func pendingQuestion(_ luck: inout RandomSource) -> DecisionID? {
    let pending = chronicle.decisionOrder.filter { chronicle.decisions[$0]?.state == .pending }
    let background = pending.filter { id in
      guard let session = chronicle.decisions[id]?.decision.sessionID else { return false }
      return chronicle.sessions[session]?.session.type == .background
    }
    return luck.pick(!background.isEmpty && luck.chance(700) ? background : pending)
  }

  private func freezeDuringDownload(
    _ decision: Decision, _ kind: Plan.DecisionRaces.Kind, _ luck: inout RandomSource
  ) {
    trace?.append("  \(chronicle.name(decision.taskID)) has a pending decision, and then: \(kind)")
    switch kind {
    case .answer: answer(decision.id, &luck)
    case .cancel: cancel(decision.taskID)
    case .suspend: suspend(decision.taskID)
    case .resume: resume(decision.taskID)
    case .invalidate: invalidate(decision.sessionID, luck.chance(500) ? .cancelTasks : .finishTasks)
    case .takeWorkerOver:
      guard let node = worker, !node.isFrozen else { return }
      if luck.chance(300) {
        overtakeWorker(&luck)
        return answerBehind(decision, &luck)
      }
      endWorker(node, keeping: luck.chance(500) ? 0 : luck.below(node.process.store.waitingCount + 1))
      startWorker(afterCrash: luck.chance(200))
      // The next worker requests a decision before the service has read the worker report of the take-over.
      goOn([1, 3, 3, 5, 6], 60, &luck)
      answerBehind(decision, &luck)
    case .takeServiceOver:
      guard let node = pickService(&luck, where: \.isRunning) else { return }
      endService(node, keeping: luck.below(node.process.store.waitingCount + 1))
      startAgain()
      goOn([0, 2, 4, 6], 20, &luck)
    case .drainWorker: upgradeWorker()
    case .breakOff:
      let isElsewhere = chronicle.sessions[decision.sessionID]?.session.type == .background
      let engines = isElsewhere ? workers.map(\.process.engine) : services.map(\.process.engine)
      for engine in engines { _ = engine.breakOff(decision.taskID, &luck) }
      executor.run()
      // Another attempt requests a decision before the service knows the end of this one.
      if isElsewhere, luck.chance(700) {
        for _ in 0...luck.below(2) { fireNext(within: .seconds(400)) }
        goOn([1, 3, 3, 5, 6], 40, &luck)
        answerBehind(decision, &luck)
      }
    case .expire: pass(seconds: Double(1 + luck.below(120)))
    }
  }

  /// Answers a decision that the service still considers open, although another attempt has requested a new one.
  private func answerBehind(_ decision: Decision, _ luck: inout RandomSource) {
    guard luck.chance(600) else { return }
    answer(decision.id, &luck)
    goOn([0, 0, 3, 5, 6], 30, &luck)
  }
}

extension SessionDelegate {
  fileprivate var asksAnything: Bool {
    taskChallenges == .ask || sessionChallenges == .ask || asksForRedirects || asksForResponses
      || asksForCaching
      || asksForDelayedRequests
  }
}
