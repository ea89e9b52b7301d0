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

extension ServiceWakeups: Waker {}

/// The whole of `ferry worker`: the database, an engine, and the background worker.
struct WorkerService {
  private static let beat = Duration.seconds(5)

  let settings: Settings
  let generation: String
  private let logger = Logger(label: "ferry.worker")
  private let now: @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }

  /// Makes the service.
  /// - Parameter generation: the program and options that the service wants.
  init(settings: Settings, generation: String) {
    self.settings = settings
    self.generation = generation
  }

  func run() async throws {
    // Trap signals before taking the lock, because the service may send signals from then on.
    let signals = await SignalHandler.trap()
    FilePermissions.begin()
    try StartError.check(descriptors: Descriptors.raiseLimit())
    ProcessLimits.forbidCoreFiles()
    let places = WorkerFiles(settings)
    guard let lock = ProcessLock(path: places.lock, version: generation) else {
      throw StartError(
        \.dataDirectory,
        "\(settings.dataDirectory) does not exist, or already has a worker; `ferry serve` starts workers by itself"
      )
    }
    let directory = DataDirectory(settings)
    let keys = try SecretKeys(settings, mayCreate: false)
    let store: SQLiteLedger
    do {
      // The database exists, because a service needs the worker.
      store = try directory.open(
        keys, SecretBox(secrets: keys.all), .logging(to: logger), mayCreate: false, fencedOff: endAtOnce,
        published: nil)
    } catch let error as OpeningError {
      throw directory.explain(error, keys)
    }
    let wakeups = try WorkerFiles.wakeupSocket(places.workerBell)
    let relay = FactCallback()
    let engine = try settings.makeEngine(settings.engineSettings(now: now), workers: 1, relay)
    let loop = EventLoop(name: "ferry-worker")
    let worker = BackgroundWorker(
      store: store, engine: engine, relay: relay, blobs: settings.blobs,
      waker: ServiceWakeups(dataDirectory: settings.dataDirectory), timers: TimerSource(on: loop),
      discretion: settings.discretion,
      now: now,
      logger: logger)
    loop.start()
    if engine.networks.hasClasses { await engine.networks.wait() }
    // Only a crash, not a kill, casts suspicion on running tasks.
    let hasCrashed = places.hasCrashMarker
    // The ticker has its own thread: a worker whose other threads wait for a disk is not stuck.
    let pulse = Ticker(name: "ferry-beat", every: Self.beat) { pulse in
      worker.ping { pulse.perform { lock.recordHeartbeat() } }
    }
    defer { pulse.stop() }
    try await StartError.describingLedgerErrors { try await worker.start(afterCrash: hasCrashed) }
    try? FileManager.default.removeItem(atPath: places.crash)
    ProcessLimits.markCrashes(at: places.crash)
    // Listen now: the worker is ready to read the commands of earlier wake-ups.
    loop.perform { wakeups.listen(on: loop) { worker.pollCommands() } }
    logger.info("carrying out background tasks", metadata: ["libcurl": "\(TransferEngine.libcurlVersion)"])
    let life = WorkerRunService(worker: worker, lock: lock, loop: loop)
    let group = ServiceGroup(
      configuration: .init(
        services: [
          .init(service: LedgerService(store: store)),
          .init(service: EngineService(engine: engine)),
          .init(service: ReloadService(requests: signals.reloads) { reloadCertificateAuthorities(engine) }),
          .init(service: life, successTerminationBehavior: .gracefullyShutdownGroup),
        ], logger: logger))
    signals.onStop { Task { await group.triggerGracefulShutdown() } }
    try await group.run()
    await loop.stopAndJoin()
    wakeups.close()
    logger.info("worker has ended; its progress is stored")
    withExtendedLifetime(lock) {}
  }

  /// Ends the process at once. Another worker has taken over, so this one can write nothing.
  private func endAtOnce() {
    logger.critical("another worker has taken over; this worker ends")
    _exit(EXIT_FAILURE)
  }

  private func reloadCertificateAuthorities(_ engine: TransferEngine) {
    do throws(TransferError) {
      try engine.reloadCertificateAuthorities()
      logger.info("read the certificate authorities again")
    } catch {
      logger.error("ca-file: \(error.message); the earlier certificate authorities stay in use")
    }
  }
}

/// The lifetime of the worker, which ends after its tasks are handed over.
private struct WorkerRunService: ServiceLifecycle.Service {
  private static let interval = Duration.seconds(5)
  /// The number of checks without a service after which an idle worker ends.
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
      // If the directory was deleted, the worker has nothing left to do.
      guard lock.isInPlace else { return }
      worker.follow()
      lonely = worker.isIdle && !worker.canReachService() ? lonely + 1 : 0
      if lonely > Self.patience { return }
      // Read commands that could not be read when the wake-up arrived.
      worker.pollCommands()
      worker.reviewDiscretionary()
      try? await Task.sleep(for: Self.interval)
    }
  }
}
