internal import Cluster
internal import Ledger
internal import LifeCycle
internal import MemoryLedger
internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

/// Everything is healed for good, and what was accepted has to end.
extension SimulatedWorld {
  /// So many times something due is waited for, and a client does what is its to do.
  private static let mostRounds = 400
  /// Each process has looked by then at what nobody told it of.
  private static let leastRounds = 2
  private static let mostActions = 20_000

  func finish() throws(Violation) {
    trace?.append("— all is healed")
    heal()
    var luck = RandomSource(seed: plan.seed &+ 99)
    var round = 0
    while true {
      try runOut(&luck)
      if round >= Self.leastRounds, isOver { break }
      round += 1
      guard round < Self.mostRounds else {
        chronicle.break_(.comesToRest, outstanding)
        break
      }
      goOn(round, &luck)
      try check()
      try runOut(&luck)
      if !fireNext(within: .seconds(86_400)) { pass(seconds: 30) }
      // Dates may be far away where the clock was set.
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
      // One stays well, whatever becomes of the others.
      let core = services[luck.below(services.count)]
      for node in services where node !== core && luck.chance(700) { lose(node, &luck) }
    }
    makeRoom()
    for node in services {
      freeze(node, false)
      node.isCutOff = false
    }
    beat()
    connect()
    if plan.kinds.healsAPart {
      for node in workers where node.isOvertaken && luck.chance(500) { lose(node, &luck) }
    }
    for node in workers { freeze(node, false) }
    startAgain()
    executor.run()
    origins.temper = Origins.Temper()
    for node in services { node.process.hub.heartbeat() }
  }

  /// Does all that can be done now.
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
    chronicle.break_(.comesToRest, "there is always something to do: \(outstanding)")
    try check()
  }

  private var isOver: Bool {
    chronicle.unfinished == 0 && chronicle.pendingDecisions == 0 && chronicle.pendingDeliveries == 0
      && !services.isEmpty && services.allSatisfy(isAtRest) && ownedShards == .all && errands.isEmpty
      && workers.count == 1 && worker?.process.hasStarted == true
      && senders.isEmpty && stores.allSatisfy { $0.waitingCount == 0 }
      && worker?.process.worker.isIdle == true && worker?.isDraining == false
      && (!plan.kinds.invalidatesAtTheEnd || chronicle.sessions.values.allSatisfy { isGone($0) })
  }

  /// Those of which some service has all that is in them.
  private var ownedShards: ShardSet {
    services.reduce(ShardSet()) { $0.union($1.process.service.cluster.held) }
  }

  private func isAtRest(_ node: ServiceNode) -> Bool {
    node.process.hasCaughtUp && node.calls == 0 && node.leavingSince == nil && !node.isAttending
  }

  private func isGone(_ story: Chronicle.SessionStory) -> Bool {
    story.session.id.isShared || story.isDeleted || story.session.state == .invalid
  }

  /// What clients do who want to see the end of it.
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
    for sender in senders { finish(sender) }
    // Some answer, others let the time pass.
    guard plan.seed % 3 != 0 else { return }
    for id in chronicle.decisionOrder where chronicle.decisions[id]?.state == .pending { answer(id, &luck) }
  }

  private var outstanding: String {
    let tasks = chronicle.taskOrder.compactMap { chronicle.tasks[$0] }.filter { !$0.isOver }
    let names = tasks.prefix(3).map { story in
      let type = chronicle.sessions[story.session]?.session.type.rawValue ?? ""
      let words = story.words.map(\.description).joined(separator: " · ")
      return "\(chronicle.name(story.id)) (\(story.kind.rawValue), \(type), \(story.row.state)): \(words)"
    }
    var parts = ["\(tasks.count) tasks, \(chronicle.pendingDecisions) decisions"]
    parts.append("\(chronicle.pendingDeliveries) messages, \(errands.count) calls wait")
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
    parts.append("nobody owns \(ShardSet.all.subtracting(ownedShards).count) shards")
    let open = chronicle.sessionOrder.filter { chronicle.sessions[$0].map { !isGone($0) } ?? false }
    parts.append("sessions: \(open.compactMap { chronicle.sessions[$0]?.session.state.rawValue })")
    return parts.joined(separator: ", ") + names.map { "\n    " + $0 }.joined()
  }

  // MARK: What is left

  private func checkEnd() {
    checkStreams()
    var ready = ShardSet()
    for node in services {
      let holdings = node.process.service.holdings
      if holdings != Holdings() { chronicle.break_(.memoryIsEmpty, "\(node.address) holds \(holdings)") }
      let own = node.process.service.cluster.held
      if !own.intersection(ready).isEmpty {
        chronicle.break_(.oneOwnerActs, "two processes take themselves for the owner of a shard")
      }
      ready = ready.union(own)
    }
    if let worker, !worker.process.worker.isQuiet {
      chronicle.break_(.memoryIsEmpty, "the worker takes something for active")
    }
    for engine in services.map(\.process.engine) + workers.map(\.process.engine) {
      if engine.count > 0 {
        chronicle.break_(.memoryIsEmpty, "an engine has \(engine.count) attempts")
      }
    }
    for id in chronicle.taskOrder {
      guard let story = chronicle.tasks[id] else { continue }
      let count = origins.unsafeRequests[id] ?? 0
      if count > 1 + story.row.retryCount {
        chronicle.break_(
          .sentOnce,
          "\(count) requests of \(chronicle.name(id)) went out, and \(story.row.retryCount) retries were told"
        )
      }
      if acknowledged.cancelled.contains(id),
        let error = story.row.error, error.reason != .url(.cancelled)
      {
        chronicle.break_(
          .verbsTakeEffect, "\(chronicle.name(id)) was cancelled and ended with \(error.reason)")
      }
    }
    for (id, _) in acknowledged.sessions.sorted(by: { $0.key < $1.key }) where chronicle.sessions[id] == nil {
      chronicle.break_(.acceptedIsKept, "a session is lost")
    }
    checkSessions()
  }

  private func checkSessions() {
    for id in chronicle.sessionOrder {
      guard let story = chronicle.sessions[id], !story.isDeleted else { continue }
      if story.session.state == .invalidating {
        chronicle.break_(.comesToRest, "session \(story.place) is being invalidated for ever")
      }
      if (story.session.state == .invalid) != story.life.isOver {
        chronicle.break_(
          .rowsAgree, "session \(story.place)'s row says \(story.session.state), and its events do not")
      }
      if story.session.owesFinishedEvents, story.session.state == .active {
        chronicle.break_(.comesToRest, "session \(story.place) owes didFinishEvents")
      }
    }
  }

  /// Reads what the database has.
  private func checkRemains() throws(Violation) {
    let store = SimulatedLedger(on: surroundings.database)
    let chronicle = chronicle
    executor.spawn { [self] in
      let commands = (try? await store.commands(after: 0, limit: 1000).count) ?? -1
      let news = (try? await store.news(after: 0, limit: 1000).count) ?? -1
      let work = (try? await store.work().count) ?? -1
      if (commands, news, work) != (0, 0, 0) {
        chronicle.break_(.memoryIsEmpty, "commands, news, work are left: \(commands), \(news), \(work)")
      }
      for id in chronicle.taskOrder {
        guard let story = chronicle.tasks[id], !isGone(story.session),
          chronicle.sessions[story.session]?.session.type != .ephemeral
        else { continue }
        guard let task = try? await store.task(id) else {
          chronicle.break_(.acceptedIsKept, "\(chronicle.name(id)) is lost")
          continue
        }
        checkPatch(task)
        checkBytes(of: task)
        if task.state != .completed {
          chronicle.break_(.acceptedIsKept, "\(chronicle.name(id)) is \(task.state)")
        }
      }
    }
    try check()
  }
}
