internal import Ledger
internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

/// The start and the end of workers.
extension SimulatedWorld {
  /// The current worker, as services know it.
  var worker: WorkerNode? { workers.last { !$0.isOvertaken } }

  func startWorker(afterCrash hasCrashed: Bool) {
    nodes += 1
    let (chronicle, clock, origins, surroundings, number) = (
      chronicle, clock, origins, surroundings, nodes
    )
    let isCurrent: () -> Bool = { [weak self] in self?.worker?.number == number }
    let process = WorkerProcess<SimulatedEngine>(
      surroundings, timers: clock.timers(of: number), random: RandomSource(seed: entropy.next()),
      observed: { chronicle.observe($0, $1, of: .worker(number)) }
    ) { relay in
      SimulatedEngine(origins, surroundings, relay) {
        clock.now
      } begins: {
        if isCurrent() { chronicle.checkStart(of: $0, at: nil) }
      }
    }
    if isFull { process.store.set(.full) }
    workers.append(WorkerNode(process, number))
    connect()
    process.start(afterCrash: hasCrashed)
    executor.run()
  }

  func killWorker(_ luck: inout RandomSource) {
    if luck.chance(500) { goOn([3, 3, 5, 6], 12, &luck) }
    guard let node = luck.pick(workers) else { return }
    let wasInPlace = node === worker
    endWorker(node, keeping: luck.chance(500) ? 0 : luck.below(node.process.store.waitingCount + 1))
    if wasInPlace, luck.chance(600) { startWorker(afterCrash: luck.chance(300)) }
  }

  /// Replaces a worker that is frozen, has lost the ledger, or does not know of its replacement.
  func overtakeWorker(_ luck: inout RandomSource) {
    guard let node = worker, workers.count < plan.kinds.workers else { return }
    if luck.chance(800) { goOn([1, 3, 3, 5, 6], 4 + luck.below(20), &luck) }
    guard worker === node else { return }
    trace?.append("  worker-\(node.number) is replaced")
    switch luck.below(5) {
    case 0...1: freeze(node, true)
    case 2...3: node.process.store.set(.unavailable)
    default: break
    }
    node.isOvertaken = true
    startWorker(afterCrash: luck.chance(500))
    if luck.chance(700) { goOn([0, 1, 1, 3, 3, 4, 5, 6], 60, &luck) }
    guard luck.chance(500) else { return }
    freeze(node, false)
    // Both workers retry failed attempts.
    for _ in 0..<luck.below(4) {
      fireNext(within: .seconds(400))
      for _ in 0..<luck.below(8) where !node.process.isDead { node.process.engine.step(&luck) }
      goOn([1, 3, 3, 6], 12, &luck)
    }
  }

  /// Loses an overtaken worker for ever: it freezes, or continues without the ledger.
  func loseForever(_ node: WorkerNode, _ luck: inout RandomSource) {
    trace?.append("  worker-\(node.number) is lost")
    if luck.chance(500) { freeze(node, true) } else { node.process.store.set(.unavailable) }
    workers.removeAll { $0 === node }
    lostWorkers.append(node)
    connect()
  }

  /// Kills the worker at its worst moment: it has just received facts, and has written nothing since. The service does not know the
  /// progress of the next worker when a client answers.
  func crashWorkerAfterFact(_ luck: inout RandomSource) {
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
    closedStores.append(node.process.store)
    workers.removeAll { $0 === node }
    connect()
    executor.run()
  }

  /// Drains the worker: it stops its transfers and writes their progress, and then another worker replaces it.
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
