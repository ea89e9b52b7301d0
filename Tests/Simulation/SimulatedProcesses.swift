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
internal import Webhooks

/// A stand-in for an engine, which dies with its process.
package protocol KillableEngine: TransferExecuting {
  /// Whether the process is dead, so that the engine reports nothing more.
  var isDead: Bool { get nonmutating set }
}

/// The parts that all processes of a world share.
package struct SharedEnvironment {
  package let executor: ManualExecutor
  package let clock: SimulatedClock
  package let blobs = MemoryBlobs()
  package let destinations = MemoryDestinations()
  /// Completes the calls of a process to the blob store, now or later.
  package var answersBlobs: @Sendable (SlowBlobs.PendingCall) -> Void = { $0.answer() }
  /// Starts concurrent work of a process.
  package let spawn: TaskSpawner
  package var database: SimulatedDatabase
  package var limits = ServiceLimits()

  package init(executor: ManualExecutor, clock: SimulatedClock, spawn: TaskSpawner? = nil) {
    (self.executor, self.clock) = (executor, clock)
    self.spawn = spawn ?? TaskSpawner { executor.spawn($0) }
    database = SimulatedDatabase()
  }
}

private let quiet = Logger(label: "world", factory: { _ in SwiftLogNoOpLogHandler() })
private let secrets = [SymmetricKey(data: [UInt8](repeating: 7, count: 32))]
private let pool = ThreadPool(name: "world-pool", threads: 0)

/// `ferry serve` without its sockets. For one thread.
package final class ServiceProcess<Engine: KillableEngine>: @unchecked Sendable {
  package let store: SimulatedLedger
  private let ledger: CompositeLedger
  private let blobs: SlowBlobs
  private let destinations: MemoryDestinations.Connection
  package let engine: Engine
  package let service: TransferService
  package let hub = EventHub()
  /// The waker that the worker uses, which this service listens to.
  package let waker = SimulatedWaker()
  /// Wakes the worker.
  package let workerWaker = SimulatedWaker()
  package var isServing = false
  /// Whether the service has read all of the worker's pending rows.
  package var hasCaughtUp = false
  /// Whether the start has failed.
  package var hasFailed = false
  package private(set) var isDead = false
  package let sender = SimulatedSender()
  private let dispatcher: WebhookDispatcher
  private let executor: ManualExecutor

  /// - Parameters:
  ///   - coordination: the liveness of the other services, if there are any.
  ///   - peers: the connections to other services.
  ///   - alarms: the timers for its deadlines.
  ///   - random: the generator of its ids; `nil` for that of the system.
  ///   - observed: receives each change when it is committed.
  ///   - published: receives the fragments that streams receive.
  package init(
    _ surroundings: SharedEnvironment, coordination: any ClusterCoordinator = SingleNodeCoordinator(),
    peers: (any PeerConnections)? = nil, timers: TimerSource,
    random: (@Sendable () -> UInt64)? = nil, observed: SimulatedLedger.Observer? = nil,
    published: @escaping @Sendable (Feed) -> Void,
    engine make: (FactCallback) -> Engine
  ) {
    let (executor, clock) = (surroundings.executor, surroundings.clock)
    self.executor = executor
    blobs = SlowBlobs(surroundings.blobs, surroundings.answersBlobs)
    destinations = MemoryDestinations.Connection(surroundings.destinations)
    let relay = FactCallback()
    store = SimulatedLedger(on: surroundings.database, observed: observed) { [hub] fragments in
      hub.publish(fragments)
      published(fragments)
    }
    ledger = CompositeLedger(store)
    engine = make(relay)
    let cluster = Cluster(store: ledger, coordination: coordination, peers: peers) { clock.uptime }
    service = TransferService(
      store: ledger, engine: engine,
      background: WorkerSessionRegistry(waker: workerWaker), relay: relay,
      hub: hub, cluster: cluster, blobs: blobs, destinations: destinations,
      box: SecretBox(secrets: secrets), answerTagger: AnswerDigester(secrets: secrets),
      pool: pool, limits: surroundings.limits, now: { clock.now }, uptime: { clock.uptime }, timers: timers,
      seed: random?() ?? .random(in: 0 ... .max), spawn: surroundings.spawn, destinationPool: pool,
      logger: quiet)
    dispatcher = WebhookDispatcher(
      service: service, sender: sender, schedule: DeliverySchedule([0, 5, 5, 5]), defaultSecret: [1],
      clocks: DispatcherClocks(
        now: { clock.now }, timers: timers, spawn: surroundings.spawn, jitter: { 0.5 }), logger: quiet)
  }

  package func start() {
    executor.spawn { [self] in
      guard (try? await service.recover()) != nil else {
        hasFailed = !isDead
        return
      }
      isServing = !isDead
      if !isDead { dispatcher.start() }
      waker.isHeard = !isDead
      hasCaughtUp = (try? await service.catchUp()) != nil
      try? await service.collectOrphans()
    }
  }

  package func answerBell() -> Bool {
    guard !isDead, waker.isRung else { return false }
    waker.isRung = false
    service.pollWorkerReports()
    return true
  }

  package func kill(keeping count: Int) {
    (isDead, isServing, engine.isDead, waker.isHeard) = (true, false, true, false)
    dispatcher.stop()
    sender.close()
    blobs.close()
    destinations.close()
    store.crash(keeping: count)
    ledger.memory.close()
  }
}

/// `ferry worker` without its sockets. For one thread.
package final class WorkerProcess<Engine: KillableEngine>: @unchecked Sendable {
  package let store: SimulatedLedger
  private let blobs: SlowBlobs
  package let engine: Engine
  package let worker: BackgroundWorker
  /// The waker that the service uses, which this worker listens to.
  package let waker = SimulatedWaker()
  /// Wakes the service.
  package let serviceWaker = SimulatedWaker()
  package var hasStarted = false
  /// Whether the start has failed.
  package var hasFailed = false
  package private(set) var isDead = false
  private let executor: ManualExecutor

  package init(
    _ surroundings: SharedEnvironment, timers: TimerSource, random: RandomSource? = nil,
    observed: SimulatedLedger.Observer? = nil, engine make: (FactCallback) -> Engine
  ) {
    let (executor, clock) = (surroundings.executor, surroundings.clock)
    self.executor = executor
    blobs = SlowBlobs(surroundings.blobs, surroundings.answersBlobs)
    let relay = FactCallback()
    store = SimulatedLedger(on: surroundings.database, observed: observed)
    engine = make(relay)
    worker = BackgroundWorker(
      store: store, engine: engine, relay: relay, blobs: blobs,
      waker: serviceWaker, timers: timers, discretion: DiscretionaryPolicy(), now: { clock.now },
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
      waker.isHeard = !isDead
      // A wakeup during the start counts now.
      waker.isRung = !isDead
    }
  }

  package func answerBell() -> Bool {
    guard !isDead, waker.isRung else { return false }
    waker.isRung = false
    worker.pollCommands()
    return true
  }

  package func kill(keeping count: Int) {
    (isDead, engine.isDead, waker.isHeard) = (true, true, false)
    blobs.close()
    store.crash(keeping: count)
  }
}
