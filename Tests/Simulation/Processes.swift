package import Cluster
internal import Crypto
package import EngineAPI
internal import EventLoop
package import Ledger
internal import Logging
internal import MemoryLedger
import Records
package import SimulatedStores
package import TransferCore
internal import TransferModel
package import TransferService

/// What stands for an engine, and dies with its process.
package protocol StandIn: LocalCarrier {
  /// Its process is gone: nobody hears of it any more.
  var isDead: Bool { get nonmutating set }
}

/// What all processes of a world share.
package struct Surroundings {
  package let executor: ManualExecutor
  package let clock: WorldClock
  package let blobs = MemoryBlobs()
  /// Completes the calls of a process to the blob store, now or later.
  package var answersBlobs: @Sendable (SlowBlobs.Waiting) -> Void = { $0.answer() }
  /// How processes do something beside everything else.
  package let spawn: Spawn
  package var database: SimulatedDatabase
  package var limits = TransferService.Limits()

  package init(executor: ManualExecutor, clock: WorldClock, spawn: Spawn? = nil) {
    (self.executor, self.clock) = (executor, clock)
    self.spawn = spawn ?? Spawn { executor.spawn($0) }
    database = SimulatedDatabase()
  }
}

private let quiet = Logger(label: "world", factory: { _ in SwiftLogNoOpLogHandler() })
private let secrets = [SymmetricKey(data: [UInt8](repeating: 7, count: 32))]
private let pool = WorkerPool(name: "world-pool", threads: 0)

/// `ferry serve`, as far as it is not sockets. For one thread.
package final class ServiceProcess<Engine: StandIn>: @unchecked Sendable {
  package let store: SimulatedLedger
  private let ledger: CompositeLedger
  private let blobs: SlowBlobs
  package let engine: Engine
  package let service: TransferService
  package let hub = EventHub()
  /// On which the worker rings.
  package let bell = WorldBell()
  /// With which it rings for the worker.
  package let workerBell = WorldBell()
  package var isServing = false
  /// What the worker did meanwhile is known.
  package var hasCaughtUp = false
  /// It could not begin.
  package var hasFailed = false
  package private(set) var isDead = false
  package var mustDispatch = true
  private let executor: ManualExecutor

  /// - Parameters:
  ///   - coordination: with the other services, if there are any.
  ///   - peers: its connections to them.
  ///   - alarms: keep the time of its deadlines.
  ///   - random: makes its ids; nil: the system does.
  ///   - observed: hears each change as it is committed.
  ///   - published: hears what streams are given.
  package init(
    _ surroundings: Surroundings, coordination: any Coordination = Solitude(),
    peers: (any PeerConnections)? = nil, alarms: Alarms,
    random: (@Sendable () -> UInt64)? = nil, observed: SimulatedLedger.Observer? = nil,
    published: @escaping @Sendable (Feed) -> Void,
    engine make: (FactRelay) -> Engine
  ) {
    let (executor, clock) = (surroundings.executor, surroundings.clock)
    self.executor = executor
    blobs = SlowBlobs(surroundings.blobs, surroundings.answersBlobs)
    let relay = FactRelay()
    store = SimulatedLedger(on: surroundings.database, observed: observed) { [hub] fragments in
      hub.publish(fragments)
      published(fragments)
    }
    ledger = CompositeLedger(store)
    engine = make(relay)
    let cluster = Cluster(store: ledger, coordination: coordination, peers: peers) { clock.uptime }
    service = TransferService(
      store: ledger, engine: engine,
      background: BackgroundCarrier(doorbell: workerBell), relay: relay,
      hub: hub, cluster: cluster, blobs: blobs,
      box: SecretBox(secrets: secrets), answerTagger: AnswerTagger(secrets: secrets),
      pool: pool, limits: surroundings.limits, now: { clock.now }, uptime: { clock.uptime }, alarms: alarms,
      seed: random?() ?? .random(in: 0 ... .max), spawn: surroundings.spawn, logger: quiet)
    service.onOutboxNews { [weak self] in self?.mustDispatch = true }
  }

  package func start() {
    executor.spawn { [self] in
      guard (try? await service.recover()) != nil else {
        hasFailed = !isDead
        return
      }
      isServing = !isDead
      bell.isHeard = !isDead
      hasCaughtUp = (try? await service.catchUp()) != nil
      try? await service.sweep()
    }
  }

  package func answerBell() -> Bool {
    guard !isDead, bell.isRung else { return false }
    bell.isRung = false
    service.lookForNews()
    return true
  }

  package func kill(keeping count: Int) {
    (isDead, isServing, engine.isDead, bell.isHeard) = (true, false, true, false)
    blobs.close()
    store.crash(keeping: count)
    ledger.memory.close()
  }
}

/// `ferry worker`, as far as it is not sockets. For one thread.
package final class WorkerProcess<Engine: StandIn>: @unchecked Sendable {
  package let store: SimulatedLedger
  private let blobs: SlowBlobs
  package let engine: Engine
  package let worker: BackgroundWorker
  /// On which the service rings.
  package let bell = WorldBell()
  /// With which it rings for the service.
  package let serviceBell = WorldBell()
  package var hasStarted = false
  /// It could not begin.
  package var hasFailed = false
  package private(set) var isDead = false
  private let executor: ManualExecutor

  package init(
    _ surroundings: Surroundings, alarms: Alarms, random: RandomSource? = nil,
    observed: SimulatedLedger.Observer? = nil, engine make: (FactRelay) -> Engine
  ) {
    let (executor, clock) = (surroundings.executor, surroundings.clock)
    self.executor = executor
    blobs = SlowBlobs(surroundings.blobs, surroundings.answersBlobs)
    let relay = FactRelay()
    store = SimulatedLedger(on: surroundings.database, observed: observed)
    engine = make(relay)
    worker = BackgroundWorker(
      store: store, engine: engine, relay: relay, blobs: blobs,
      bell: serviceBell, alarms: alarms, discretion: DiscretionaryPolicy(), now: { clock.now },
      spawn: surroundings.spawn, random: random ?? RandomSource(seed: .random(in: 0 ... .max)),
      logger: quiet)
  }

  package func start(afterCrash hasCrashed: Bool) {
    executor.spawn { [self] in
      guard (try? await worker.start(afterCrash: hasCrashed)) != nil else {
        hasFailed = !isDead
        return
      }
      hasStarted = !isDead
      bell.isHeard = !isDead
      // Who rang meanwhile is heard now.
      bell.isRung = !isDead
    }
  }

  package func answerBell() -> Bool {
    guard !isDead, bell.isRung else { return false }
    bell.isRung = false
    worker.lookForCommands()
    return true
  }

  package func kill(keeping count: Int) {
    (isDead, engine.isDead, bell.isHeard) = (true, true, false)
    blobs.close()
    store.crash(keeping: count)
  }
}
