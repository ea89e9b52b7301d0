internal import Cluster
internal import Ledger
internal import LifeCycle
internal import MemoryLedger
internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

/// The end of a world: all faults are healed, and every accepted task must end.
extension SimulatedWorld {
  /// The limit of rounds. In each round, time passes and clients act.
  private static let mostRounds = 400
  /// By then, each process has checked everything that it polls.
  private static let leastRounds = 2
  /// By then, a message that a client wants again is sent.
  private static let redeliveryRounds = 15
  private static let mostActions = 20_000

  func finish() throws(Violation) {
    trace?.append("— all faults have ended")
    heal()
    var luck = RandomSource(seed: plan.seed &+ 99)
    var round = 0
    while true {
      try runOut(&luck)
      if round >= Self.leastRounds, isOver { break }
      round += 1
      guard round < Self.mostRounds else {
        chronicle.violate(.comesToRest, outstanding)
        break
      }
      goOn(round, &luck)
      try check()
      try runOut(&luck)
      if !fireNext(within: .seconds(86_400)) { pass(seconds: 30) }
      // After a change of the clock, dates may be far away.
      if round > Self.leastRounds * 20 { pass(seconds: 3600) }
      tick()
      try check()
    }
    try check()
    try runOut(&luck)
    checkEnd()
    try check()
    try checkRemains()
    try runOut(&luck)
  }

  private func heal() {
    isHealed = true
    var luck = RandomSource(seed: plan.seed &+ 7)
    if plan.kinds.healsAPart, services.count > 1 {
      // At least one service stays healthy.
      let core = services[luck.below(services.count)]
      for node in services where node !== core && luck.chance(700) { loseForever(node, &luck) }
    }
    makeRoom()
    surroundings.destinations.set(failures: 0)
    for node in services {
      freeze(node, false)
      node.isCutOff = false
    }
    renewLeases()
    connect()
    if plan.kinds.healsAPart {
      for node in workers where node.isOvertaken && luck.chance(500) { loseForever(node, &luck) }
    }
    for node in workers { freeze(node, false) }
    startAgain()
    executor.run()
    origins.temper = SimulatedOrigins.Probabilities()
    for node in services { node.process.hub.heartbeat() }
  }

  /// Performs actions until nothing is left to do.
  private func runOut(_ luck: inout RandomSource) throws(Violation) {
    for _ in 0..<Self.mostActions {
      guard work(&luck) else {
        try check()
        readStreams()
        try check()
        return
      }
      try check()
    }
    chronicle.violate(.comesToRest, "the world does not come to rest: \(outstanding)")
    try check()
  }

  private var isOver: Bool {
    chronicle.unfinished == 0 && chronicle.pendingDecisions == 0 && chronicle.pendingDeliveries == 0
      && !chronicle.awaitsGroups && !services.isEmpty && services.allSatisfy(isAtRest) && ownedShards == .all
      && errands.isEmpty
      && workers.count == 1 && worker?.process.hasStarted == true
      && senders.isEmpty && stores.allSatisfy { $0.waitingCount == 0 }
      && worker?.process.worker.isIdle == true && worker?.isDraining == false
      && (!plan.kinds.invalidatesAtTheEnd || chronicle.sessions.values.allSatisfy { isGone($0) })
  }

  /// The shards that some service holds completely.
  private var ownedShards: ShardSet {
    services.reduce(ShardSet()) { $0.union($1.process.service.cluster.held) }
  }

  private func isAtRest(_ node: ServiceNode) -> Bool {
    node.process.hasCaughtUp && node.calls == 0 && node.leavingSince == nil && !node.isAttending
  }

  private func isGone(_ story: CommitHistory.SessionStory) -> Bool {
    story.session.id.isShared || story.isDeleted || story.session.state == .invalid
  }

  /// Lets clients act in order to end every task.
  private func goOn(_ round: Int, _ luck: inout RandomSource) {
    startAgain()
    if plan.kinds.invalidatesAtTheEnd {
      for id in chronicle.sessionOrder {
        guard let story = chronicle.sessions[id], !isGone(story), story.session.state == .active else {
          continue
        }
        invalidate(id, plan.seed.isMultiple(of: 2) ? .cancelTasks : .finishTasks)
      }
    }
    for id in chronicle.taskOrder where chronicle.tasks[id]?.row.state == .suspended {
      if chronicle.tasks[id]?.isOver == false { resume(id) }
    }
    for story in chronicle.presentEndpoints where !story.endpoint.isEnabled {
      setEndpoint(story.endpoint, isEnabled: true)
    }
    // A service may have died before it sent a notification about its messages.
    if round == 1 || round > Self.redeliveryRounds + 5 {
      for node in services where node.answers { node.process.service.lookForMessages() }
    }
    if plan.kinds.endpoints > 0, round < 3 { redeliver(&luck, round: round) }
    checkRedeliveries(round)
    for sender in senders { finish(sender) }
    // In two thirds of the worlds, clients answer; otherwise decisions expire.
    guard plan.seed % 3 != 0 else { return }
    for id in chronicle.decisionOrder where chronicle.decisions[id]?.state == .pending { answer(id, &luck) }
  }

  private func checkRedeliveries(_ round: Int) {
    for (id, since) in chronicle.awaited where round > since + Self.redeliveryRounds {
      guard chronicle.deliveries[id]?.state == .pending else { continue }
      chronicle.violate(.verbsTakeEffect, "\(id), which a client wanted again, is not sent")
    }
  }

  private var outstanding: String {
    let tasks = chronicle.taskOrder.compactMap { chronicle.tasks[$0] }.filter { !$0.isOver }
    let names = tasks.prefix(3).map { story in
      let type = chronicle.sessions[story.session]?.session.type.rawValue ?? ""
      let words = story.words.map(\.description).joined(separator: " · ")
      return "\(chronicle.name(story.id)) (\(story.kind.rawValue), \(type), \(story.row.state)): \(words)"
    }
    var parts = ["\(tasks.count) tasks, \(chronicle.pendingDecisions) decisions"]
    if chronicle.awaitsGroups { parts.append("a closed group is not completed") }
    parts.append("\(chronicle.pendingDeliveries) messages, \(errands.count) waiting calls")
    for node in services {
      parts.append(
        "\(node.address) has caught up: \(node.process.hasCaughtUp), \(node.calls) calls, leaves: \(node.leavingSince != nil), attends: \(node.isAttending)"
      )
    }
    parts.append(
      "senders: \(senders.map { "\(chronicle.name($0.task)) at \($0.node.address), sent: \($0.hasFinished)" })"
    )
    parts.append("\(workers.count) workers, the worker is idle: \(worker?.process.worker.isIdle ?? false)")
    parts.append("drains: \(worker?.isDraining ?? false), waits: \(stores.map(\.waitingCount))")
    parts.append("\(ShardSet.all.subtracting(ownedShards).count) shards without an owner")
    let open = chronicle.sessionOrder.filter { chronicle.sessions[$0].map { !isGone($0) } ?? false }
    parts.append("sessions: \(open.compactMap { chronicle.sessions[$0]?.session.state.rawValue })")
    return parts.joined(separator: ", ") + names.map { "\n    " + $0 }.joined()
  }

  // MARK: Remains

  private func checkEnd() {
    checkStreams()
    var ready = ShardSet()
    for node in services {
      let holdings = node.process.service.statistics
      if holdings != ServiceStatistics() {
        chronicle.violate(.memoryIsEmpty, "\(node.address) holds \(holdings)")
      }
      let own = node.process.service.cluster.held
      if !own.intersection(ready).isEmpty {
        chronicle.violate(.oneOwnerActs, "two processes consider themselves the owner of a shard")
      }
      ready = ready.union(own)
    }
    if let worker, !worker.process.worker.isQuiet {
      chronicle.violate(.memoryIsEmpty, "the worker still counts a task as active")
    }
    for engine in services.map(\.process.engine) + workers.map(\.process.engine) {
      if engine.count > 0 {
        chronicle.violate(.memoryIsEmpty, "an engine still has \(engine.count) attempts")
      }
    }
    for id in chronicle.taskOrder {
      guard let story = chronicle.tasks[id] else { continue }
      let count = origins.unsafeRequests[id] ?? 0
      if count > 1 + story.row.retryCount {
        chronicle.violate(
          .sentOnce,
          "\(chronicle.name(id)) sent \(count) requests, but reports \(story.row.retryCount) retries"
        )
      }
      if acknowledged.cancelled.contains(id),
        let error = story.row.error, error.reason != .url(.cancelled)
      {
        chronicle.violate(
          .verbsTakeEffect, "\(chronicle.name(id)) was cancelled, but ended with \(error.reason)")
      }
    }
    for (id, _) in acknowledged.sessions.sorted(by: { $0.key < $1.key }) where chronicle.sessions[id] == nil {
      chronicle.violate(.acceptedIsKept, "a session is lost")
    }
    checkSessions()
  }

  private func checkSessions() {
    for id in chronicle.sessionOrder {
      guard let story = chronicle.sessions[id], !story.isDeleted else { continue }
      if story.session.state == .invalidating {
        chronicle.violate(.comesToRest, "session \(story.place) stays invalidating")
      }
      if (story.session.state == .invalid) != story.life.isOver {
        chronicle.violate(
          .rowsAgree,
          "the row of session \(story.place) has the state \(story.session.state), but its events do not")
      }
      if story.session.owesFinishedEvents, story.session.state == .active {
        chronicle.violate(.comesToRest, "session \(story.place) did not send its didFinishEvents")
      }
    }
  }

  /// Checks the rows that are left in the database.
  private func checkRemains() throws(Violation) {
    let store = SimulatedLedger(on: surroundings.database)
    let chronicle = chronicle
    executor.spawn { [self] in
      let commands = (try? await store.commands(after: 0, limit: 1000).count) ?? -1
      let news = (try? await store.workerReports(after: 0, limit: 1000).count) ?? -1
      let work = (try? await store.work().count) ?? -1
      if (commands, news, work) != (0, 0, 0) {
        chronicle.violate(
          .memoryIsEmpty, "rows remain: \(commands) commands, \(news) worker reports, \(work) work")
      }
      for id in chronicle.taskOrder {
        guard let story = chronicle.tasks[id], !isGone(story.session),
          chronicle.sessions[story.session]?.session.type != .ephemeral
        else { continue }
        guard let task = try? await store.task(id) else {
          chronicle.violate(.acceptedIsKept, "\(chronicle.name(id)) is lost")
          continue
        }
        checkPatch(task)
        checkBytes(of: task)
        checkFile(of: task)
        if task.state != .completed {
          chronicle.violate(.acceptedIsKept, "\(chronicle.name(id)) is \(task.state)")
        }
      }
    }
    try check()
  }
}
