internal import MemoryStore
internal import TransferCore
internal import TransferModel
internal import TransferService
internal import TransferStore

/// How workers come and go.
extension SimulatedWorld {
  func startWorker(afterCrash hasCrashed: Bool) {
    nodes += 1
    let (chronicle, clock, origins, blobs) = (chronicle, clock, origins, surroundings.blobs)
    let process = WorkerProcess<SimulatedEngine>(
      surroundings, alarms: clock.alarms(of: nodes), random: RandomSource(seed: entropy.next()),
      observed: { chronicle.observe($0, $1) }
    ) { relay in
      SimulatedEngine(origins, blobs, relay) { clock.now }
    }
    if isFull { process.store.set(.full) }
    worker = WorkerNode(process, nodes)
    connect()
    process.start(afterCrash: hasCrashed)
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

  func freeze(_ node: WorkerNode?, _ isFrozen: Bool) {
    guard let node else { return }
    node.isFrozen = isFrozen
    clock.set(node.number, isFrozen: isFrozen)
  }
}
