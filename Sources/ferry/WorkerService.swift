import BlobStore
import Cluster
import EventLoop
import FerrySettings
import FoundationEssentials
import Glibc
import Logging
import Processes
import Records
import SQLiteLedger
import ServiceLifecycle
import Synchronization
import TransferEngine
import TransferModel
import TransferService
import UnixSignals

extension ServiceBells: Bell {}

/// The whole of `ferry worker`: the store, an engine, and what takes commands and tries again.
struct WorkerService {
  private static let beat = Duration.seconds(5)

  let settings: Settings
  let generation: String
  private let logger = Logger(label: "ferry.worker")
  private let now: @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }

  /// - Parameter generation: which program and which options the service wants.
  init(settings: Settings, generation: String) {
    self.settings = settings
    self.generation = generation
  }

  func run() async throws {
    // Before the lock: from then on the service may send signals.
    let signals = await Signals.trap()
    PrivatePlaces.begin()
    try StartError.check(descriptors: Descriptors.raiseLimit())
    ProcessLimits.forbidCoreFiles()
    let places = WorkerPlaces(settings)
    guard let lock = ProcessLock(path: places.lock, version: generation) else {
      throw StartError(\.dataDirectory, "\(settings.dataDirectory) has a worker, or is not there")
    }
    let directory = DataDirectory(settings)
    let keys = try SecretKeys(settings, mayCreate: false)
    let store: SQLiteLedger
    do {
      // There is one, or nobody would want a worker.
      store = try directory.open(
        keys, SecretBox(secrets: keys.all), .told(to: logger), mayCreate: false, fencedOff: endAtOnce,
        published: nil)
    } catch let error as OpeningError {
      throw directory.explain(error, keys)
    }
    let bell = try WorkerPlaces.bell(places.workerBell)
    let relay = FactRelay()
    let engine = try settings.makeEngine(settings.engineSettings(now: now), workers: 1, relay)
    let loop = EventLoop(name: "ferry-worker")
    let worker = BackgroundWorker(
      store: store, engine: engine, relay: relay, blobs: settings.blobs,
      bell: ServiceBells(dataDirectory: settings.dataDirectory), alarms: Alarms(on: loop),
      discretion: settings.discretion,
      now: now,
      logger: logger)
    loop.start()
    if engine.networks.hasClasses { await engine.networks.wait() }
    // Who ends it from outside tells nothing of its tasks; who makes it crash may do so again.
    let hasCrashed = places.isMarkedByCrash
    // On a thread of its own: a worker whose other threads wait for a disk is not stuck.
    let pulse = Ticker(name: "ferry-beat", every: Self.beat) { pulse in
      worker.ping { pulse.perform { lock.beat() } }
    }
    defer { pulse.stop() }
    try await StartError.ofStore { try await worker.start(afterCrash: hasCrashed) }
    try? FileManager.default.removeItem(atPath: places.crash)
    ProcessLimits.markCrashes(at: places.crash)
    // Not before: who rang meanwhile is heard now.
    loop.perform { bell.listen(on: loop) { worker.lookForCommands() } }
    logger.info("carries background tasks out", metadata: ["libcurl": "\(TransferEngine.libcurlVersion)"])
    let life = WorkerLife(worker: worker, lock: lock, loop: loop)
    let group = ServiceGroup(
      configuration: .init(
        services: [
          .init(service: StoreService(store: store)),
          .init(service: EngineService(engine: engine)),
          .init(service: ReloadService(requests: signals.reloads) { readAgain(engine) }),
          .init(service: life, successTerminationBehavior: .gracefullyShutdownGroup),
        ], logger: logger))
    signals.onStop { Task { await group.triggerGracefulShutdown() } }
    try await group.run()
    await loop.stopAndJoin()
    bell.close()
    logger.info("has ended, and all that it has done is written down")
    withExtendedLifetime(lock) {}
  }

  /// Another worker goes on with the tasks: nothing that this one does can be written any more.
  private func endAtOnce() {
    logger.critical("another worker has taken over: this one ends")
    _exit(EXIT_FAILURE)
  }

  private func readAgain(_ engine: TransferEngine) {
    do throws(TransferError) {
      try engine.readAuthoritiesAgain()
      logger.info("read the authorities again")
    } catch {
      logger.error("ca-file: \(error.message); those of before stay")
    }
  }
}

/// Ends where there is no more to be done: its tasks are handed over.
private struct WorkerLife: ServiceLifecycle.Service {
  private static let interval = Duration.seconds(5)
  /// How long it waits for a service that has gone, where it has no task.
  private static let patience = 6

  let worker: BackgroundWorker
  let lock: ProcessLock
  let loop: EventLoop

  func run() async throws {
    await cancelWhenGracefulShutdown { await live() }
    await worker.drain()
  }

  private func live() async {
    var lonely = 0
    while !Task.isCancelled {
      // Whoever removed the directory wants no more of it.
      guard lock.isStillThere else { return }
      worker.follow()
      lonely = worker.isIdle && !worker.isHeard() ? lonely + 1 : 0
      if lonely > Self.patience { return }
      // What could not be read when somebody rang.
      worker.lookForCommands()
      worker.reviewDiscretionary()
      try? await Task.sleep(for: Self.interval)
    }
  }
}
