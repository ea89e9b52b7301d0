internal import Cluster
internal import Ledger
internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

/// The start and the end of services.
extension SimulatedWorld {
  /// The time that a stopping service spends on handing over running tasks, as in the program.
  private static let longestLeave = Duration.seconds(10)
  private static let mostRounds = 80

  var stores: [SimulatedLedger] { services.map(\.process.store) + workers.map(\.process.store) }

  /// Returns a random service that matches.
  func pickService(_ luck: inout RandomSource, where matches: (ServiceNode) -> Bool) -> ServiceNode? {
    let found = services.filter(matches)
    return found.count > 1 ? found[luck.below(found.count)] : found.first
  }

  /// Starts missing processes, as a supervisor would.
  func startAgain() {
    for node in services where node.process.hasFailed { endService(node, keeping: 0) }
    for node in workers where node.process.hasFailed { endWorker(node, keeping: 0) }
    while services.count < plan.kinds.services { startService() }
    if worker == nil { startWorker(afterCrash: false) }
  }

  func connect() {
    for node in services { node.process.workerWaker.pull(worker.map { [$0.process.waker] } ?? []) }
    for node in workers {
      node.process.serviceWaker.pull(services.filter { !$0.isCutOff }.map(\.process.waker))
    }
  }

  func startService() {
    nodes += 1
    let (chronicle, entropy, clock, origins, number) = (chronicle, entropy, clock, origins, nodes)
    let surroundings = surroundings
    let address = ServiceNode.address(number)
    let process = ServiceProcess<SimulatedEngine>(
      surroundings, coordination: SimulatedCoordinator(address, among: places),
      peers: SimulatedPeers(world: self, address: address),
      timers: clock.timers(of: number),
      random: { entropy.next() },
      observed: { [weak self] change, fragments in
        chronicle.observe(change, fragments, of: .service(number))
        if !fragments.isEmpty { self?.writers.insert(number) }
      }
    ) {
      chronicle.checkTold($0.fragments)
    } engine: { relay in
      SimulatedEngine(origins, surroundings, relay) {
        clock.now
      } begins: {
        chronicle.checkStart(of: $0, at: number)
      }
    }
    if isFull { process.store.set(.full) }
    process.sender.willSend = { chronicle.check(sending: $0) }
    let node = ServiceNode(process, number)
    services.append(node)
    places.enter(address) { [weak node] in
      guard let node, !node.isCutOff else { return }
      node.mustAttend = true
      if node.process.waker.isHeard { node.process.waker.isRung = true }
    }
    connect()
    process.start()
    executor.run()
  }

  // MARK: End

  func killService(_ luck: inout RandomSource) {
    guard !services.isEmpty else { return }
    if plan.kinds.destinations > 0, luck.chance(300) { return crashAfterRename(&luck) }
    if luck.chance(300) {
      createTasks(1 + luck.below(3), &luck)
      goOn([0, 2], 8, &luck)
    }
    if luck.chance(500) { goOn([2, 2, 4, 6], 12, &luck) }
    guard let node = pickService(&luck, where: { _ in true }) else { return }
    endService(node, keeping: luck.below(node.process.store.waitingCount + 1))
    if luck.chance(300) { startService() }
  }

  func endService(_ node: ServiceNode, keeping count: Int) {
    bury(node, keeping: count)
    leave(node)
  }

  private func bury(_ node: ServiceNode, keeping count: Int) {
    node.process.kill(keeping: count)
    clock.forget(node.number)
    places.leave(node.address)
    closedStores.append(node.process.store)
    departed.append(node)
  }

  /// Removes a service that has ended, and lets its clients notice.
  private func leave(_ node: ServiceNode) {
    services.removeAll { $0 === node }
    for reader in readers where reader.node === node { reader.lose() }
    loseSenders(to: node)
    chronicle.forgetEphemeral(of: node.number)
    loseErrands(of: node)
    connect()
    executor.run()
  }

  /// Loses a service for ever: it ends, freezes, or continues without the ledger and the other services.
  func loseForever(_ node: ServiceNode, _ luck: inout RandomSource) {
    trace?.append("  \(node.address) is lost")
    switch luck.below(3) {
    case 0: return endService(node, keeping: luck.below(node.process.store.waitingCount + 1))
    case 1: freeze(node, true)
    default:
      node.process.store.set(.unavailable)
      node.isCutOff = true
    }
    node.isLost = true
    lost.append(node)
    leave(node)
  }

  /// Ends processes that have found out that they were taken over.
  func retire() {
    for node in services where !node.isFrozen && node.process.store.isFencedOff {
      endService(node, keeping: 0)
    }
    for node in workers
    where !node.isFrozen && (node.process.store.isFencedOff || node.isDrained && node !== worker) {
      endWorker(node, keeping: 0)
    }
  }

  /// Freezes or cuts off a service until another takes over.
  func overtake(_ luck: inout RandomSource) {
    guard let node = pickService(&luck, where: \.answers) else { return }
    if luck.chance(800) { createTasks(1 + luck.below(3), &luck) }
    if luck.chance(800) { goOn([0, 2, 2, 4, 6], 4 + luck.below(20), &luck) }
    guard services.contains(where: { $0 === node }) else { return }
    if luck.chance(700) { freeze(node, true) } else { node.isCutOff = true }
    letTakeOver(from: node)
  }

  /// Lets the others find that a service is unresponsive.
  private func letTakeOver(from node: ServiceNode) {
    if !services.contains(where: { $0 !== node && $0.isRunning }) { startService() }
    pass(seconds: 12)
    for _ in 0..<Self.mostRounds where chronicle.isMember(node.number) {
      for other in services where other !== node {
        if other.answers { other.mustAttend = true }
        _ = attend(other)
        executor.run()
        if other.isRunning { _ = other.process.store.commitNext() }
        executor.run()
      }
    }
  }

  /// Freezes a service during a suspended download. Another service resumes the download, and then the first one wakes and receives the
  /// same request.
  func freezeDuringDownload(_ luck: inout RandomSource) {
    let sessions = chronicle.sessionOrder.filter { !$0.isShared }.compactMap {
      chronicle.sessions[$0]?.session
    }
    guard let session = luck.pick(sessions.filter { $0.type == .default && $0.state == .active }) else {
      return
    }
    let known = chronicle.taskOrder.count
    createDownload(in: session)
    func newest() -> TaskID? { chronicle.taskOrder.dropFirst(known).last { isLarge($0) } }
    goOn(&luck) { _ in newest() != nil }
    guard let task = newest() else { return }
    goOn(&luck) { _ in self.writer(of: task, but: nil) != nil }
    guard let node = writer(of: task, but: nil) else { return }
    suspend(task)
    goOn(&luck) { _ in self.chronicle.tasks[task]?.row.state != .running }
    guard services.contains(where: { $0 === node }) else { return }
    freeze(node, true)
    letTakeOver(from: node)
    resume(task)
    goOn(&luck) { _ in self.writer(of: task, but: node) != nil }
    guard services.contains(where: { $0 === node }) else { return }
    freeze(node, false)
    let tenant = session.tenant
    executor.spawn { _ = try? await node.process.service.view(of: tenant).resume(task) }
    executor.run()
    for _ in 0..<luck.below(16) { node.process.engine.step(&luck) }
  }

  private func isLarge(_ task: TaskID) -> Bool {
    chronicle.tasks[task]?.row.originalRequest.url == Self.largeURL
  }

  private func writer(of task: TaskID, but other: ServiceNode?) -> ServiceNode? {
    services.first { $0 !== other && $0.process.engine.isWriting(task) }
  }

  /// Cuts a service off from its lease and from the others.
  func cutOff(_ luck: inout RandomSource) {
    pickService(&luck) { !$0.isCutOff }?.isCutOff = true
    connect()
  }

  /// Wakes a frozen service, which continues with its next action.
  func wake(_ luck: inout RandomSource) {
    guard let node = pickService(&luck, where: { $0.isFrozen || $0.isCutOff }) else { return }
    freeze(node, false)
    node.isCutOff = false
    renewLeases()
    connect()
    executor.run()
    if luck.chance(500) { goOn([0, 2, 4, 6, 8], 12, &luck) }
  }

  func freeze(_ node: ServiceNode?, _ isFrozen: Bool) {
    guard let node else { return }
    node.isFrozen = isFrozen
    clock.set(node.number, isFrozen: isFrozen)
  }

  func makeRoom() {
    isFull = false
    for store in stores { store.set(nil) }
  }

  // MARK: Orderly stop

  func upgradeService(_ luck: inout RandomSource) {
    guard let node = pickService(&luck, where: { $0.answers && $0.leavingSince == nil }) else { return }
    node.leavingSince = clock.uptime
    node.process.service.beginLeaving()
    executor.run()
    // The successor starts now, or after the old service has ended.
    if luck.chance(500) { startService() }
  }

  /// Lets a stopping service hand over its shards, and then end.
  func goOnLeaving(_ node: ServiceNode) -> Bool {
    guard let since = node.leavingSince, node.isRunning, node.process.isServing, !node.isGiving else {
      return false
    }
    let isAlone = !services.contains { $0 !== node && $0.answers && $0.leavingSince == nil }
    if node.hasGivenAll || isAlone || clock.uptime - since > Self.longestLeave {
      depart(node)
      return true
    }
    guard node.mustGive else { return false }
    (node.mustGive, node.isGiving) = (false, true)
    executor.spawn {
      let isDone = (try? await node.process.service.cluster.handOverAll()) ?? false
      (node.isGiving, node.hasGivenAll) = (false, isDone)
    }
    return true
  }

  private func depart(_ node: ServiceNode) {
    node.process.service.beginDraining()
    executor.run()
    while node.process.store.commitNext() { executor.run() }
    executor.spawn { try? await node.process.service.cluster.leave() }
    executor.run()
    while node.process.store.commitNext() { executor.run() }
    endService(node, keeping: 0)
    if services.isEmpty { startService() }
  }

  // MARK: Background work of services

  /// Renews the leases of all running services.
  func renewLeases() {
    for node in services where node.isRunning {
      (node.mustGive, node.mustAttend) = (true, true)
      if !node.isCutOff { places.renew(node.address) }
    }
  }

  /// Moves the clocks. Running services renew their leases.
  func pass(seconds: Double) {
    clock.run(seconds)
    renewLeases()
  }

  @discardableResult
  func fireNext(within horizon: Duration) -> Bool {
    let hasFired = clock.fireNext(within: horizon)
    renewLeases()
    return hasFired
  }

  /// Lets a service check its peers, and read the events of the others.
  func attend(_ node: ServiceNode) -> Bool {
    guard node.answers, node.process.hasCaughtUp, node.mustAttend, !node.isAttending else { return false }
    (node.mustAttend, node.isAttending) = (false, true)
    node.process.service.cluster.tick()
    executor.spawn {
      _ = try? await node.process.service.cluster.reconcile()
      node.isAttending = false
    }
    return true
  }

  func follow(_ node: ServiceNode) -> Bool {
    guard node.isRunning, node.process.isServing, node.mustFollow, !node.isLost else { return false }
    node.mustFollow = false
    node.process.service.publishRemoteCommits()
    return true
  }

  /// Lets services that have committed events wake the others.
  func ringForOthers() {
    guard !writers.isEmpty else { return }
    for node in services where !node.isCutOff && !writers.subtracting([node.number]).isEmpty {
      node.mustFollow = true
    }
    writers = []
  }
}
