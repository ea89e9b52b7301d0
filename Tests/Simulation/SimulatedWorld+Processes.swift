internal import MemoryStore
internal import TransferCore
internal import TransferModel
internal import TransferService

/// How processes come and go.
extension SimulatedWorld {
  var stores: [MemoryStore] { [service?.process.store, worker?.process.store].compactMap { $0 } }

  /// Whoever is not there is started, as a supervisor would.
  func startAgain() {
    if let service, service.process.hasFailed { endService(service, keeping: 0) }
    if let worker, worker.process.hasFailed { endWorker(worker, keeping: 0) }
    if service == nil { startService() }
    if worker == nil { startWorker(afterCrash: false) }
  }

  private func connect() {
    service?.process.workerBell.target = worker?.process.bell
    worker?.process.serviceBell.target = service?.process.bell
  }

  private func startService() {
    nodes += 1
    let (chronicle, entropy, clock, origins) = (chronicle, entropy, clock, origins)
    let process = ServiceProcess<SimulatedEngine>(
      surroundings, alarms: clock.alarms(of: nodes), random: { entropy.next() },
      observed: { chronicle.observe($0, $1) }
    ) {
      chronicle.checkTold($0)
    } engine: { relay in
      SimulatedEngine(origins, relay) { clock.now }
    }
    if isFull { process.store.set(.full) }
    service = ServiceNode(process, nodes)
    connect()
    process.start()
    executor.run()
  }

  func startWorker(afterCrash hasCrashed: Bool) {
    nodes += 1
    let (chronicle, clock, origins) = (chronicle, clock, origins)
    let process = WorkerProcess<SimulatedEngine>(
      surroundings, alarms: clock.alarms(of: nodes), random: RandomSource(seed: entropy.next()),
      observed: { chronicle.observe($0, $1) }
    ) { relay in
      SimulatedEngine(origins, relay) { clock.now }
    }
    if isFull { process.store.set(.full) }
    worker = WorkerNode(process, nodes)
    connect()
    process.start(afterCrash: hasCrashed)
    executor.run()
  }

  // MARK: Ends

  func killService(_ luck: inout RandomSource) {
    guard let service else { return }
    if luck.chance(300) {
      createTasks(1 + luck.below(3), &luck)
      goOn([0, 2], 8, &luck)
    }
    if luck.chance(500) { goOn([2, 2, 4, 6], 12, &luck) }
    endService(service, keeping: luck.below(service.process.store.waitingCount + 1))
    if luck.chance(300) { startService() }
  }

  func endService(_ node: ServiceNode, keeping count: Int) {
    for reader in readers where reader.node === node { reader.lose() }
    loseSenders(to: node)
    node.process.kill(keeping: count)
    clock.forget(node.number)
    chronicle.forgetEphemeral()
    graves.append(node.process.store)
    departed.append(node)
    for id in acknowledged.patches.keys { acknowledged.patches[id]?.isUnderWay = false }
    service = nil
    connect()
    executor.run()
  }

  func killWorker(_ luck: inout RandomSource) {
    guard let worker else { return }
    if luck.chance(500) { goOn([3, 3, 5, 6], 12, &luck) }
    endWorker(worker, keeping: luck.chance(500) ? 0 : luck.below(worker.process.store.waitingCount + 1))
    if luck.chance(600) { startWorker(afterCrash: luck.chance(300)) }
  }

  /// The worker dies at its worst moment: it has just heard of something, and of what it has done since nothing is written. Nor does the
  /// service know what the next one has come to when a client answers.
  func strike(_ luck: inout RandomSource) {
    let background = chronicle.sessionOrder.filter {
      chronicle.sessions[$0]?.session.type == .background && chronicle.sessions[$0]?.session.state == .active
    }
    guard let node = worker, let session = luck.pick(background) else { return }
    createTasks(1 + luck.below(3), in: session, &luck)
    goOn([0, 0, 5, 6], 40, &luck)
    goOn([3, 3, 3, 5, 6], 20, &luck)
    if luck.chance(600) { goOn([0, 1, 3, 4, 6], 60, &luck) }
    guard worker === node else { return }
    endWorker(node, keeping: luck.chance(700) ? 0 : luck.below(node.process.store.waitingCount + 1))
    startWorker(afterCrash: luck.chance(200))
    goOn([1, 1, 3, 3, 5, 6], 80, &luck)
    if luck.chance(600) { for _ in 0..<3 { answer(&luck, isLate: false) } }
    goOn([0, 3, 5, 6], 40, &luck)
  }

  func endWorker(_ node: WorkerNode, keeping count: Int) {
    node.process.kill(keeping: count)
    clock.forget(node.number)
    graves.append(node.process.store)
    worker = nil
    connect()
    executor.run()
  }

  func freeze(_ node: ServiceNode?, _ isFrozen: Bool) {
    guard let node else { return }
    node.isFrozen = isFrozen
    clock.set(node.number, isFrozen: isFrozen)
  }

  func freeze(_ node: WorkerNode?, _ isFrozen: Bool) {
    guard let node else { return }
    node.isFrozen = isFrozen
    clock.set(node.number, isFrozen: isFrozen)
  }

  func makeRoom() {
    isFull = false
    for store in stores { store.set(nil) }
  }

  /// It ends in order, and another takes its place.
  func upgradeService() {
    guard let node = service, !node.isFrozen, node.process.isServing else { return }
    node.process.service.beginDraining()
    executor.run()
    while node.process.store.commitNext() { executor.run() }
    endService(node, keeping: 0)
    startService()
  }

  /// It stops what it does, with what that has got in its rows; once that is written another takes its place.
  func upgradeWorker() {
    guard let node = worker, !node.isFrozen, !node.isDraining, node.process.hasStarted else { return }
    node.isDraining = true
    executor.spawn {
      await node.process.worker.drain()
      node.isDrained = !node.process.isDead
    }
    executor.run()
  }

  func replaceDrained(_ node: WorkerNode) {
    guard !node.isFrozen else { return }
    while node.process.store.commitNext() { executor.run() }
    endWorker(node, keeping: 0)
    startWorker(afterCrash: false)
  }
}
