import EventLoop
import FerrySettings
import FoundationEssentials
import HTTPServer
import Logging
import ServiceLifecycle
import TransferAPI
import TransferEngine
import TransferModel
import TransferService
import TransferStore
import UnixSignals
import Webhooks

/// The whole of `ferry serve`, put together: store first, HTTP last, and down in reverse.
struct Service {
  let settings: Settings
  private let logger = Logger(label: "ferry")
  private let now: @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }

  init(settings: Settings) { self.settings = settings }

  func run() async throws {
    PrivatePlaces.begin()
    let descriptors = Descriptors.raiseLimit()
    try StartError.check(descriptors: descriptors)
    ProcessLimits.forbidCoreFiles()
    let directory = DataDirectory(settings)
    let lock = try directory.take()
    PrivatePlaces.mend(settings.dataDirectory)
    defer { withExtendedLifetime(lock) {} }
    let places = WorkerPlaces(settings)
    let supervisor = WorkerSupervisor(places: places, arguments: settings.workerArguments, logger: logger)
    let keys = try SecretKeys(settings, mayCreate: true)
    let hub = EventHub()
    let store = try await open(directory, keys, supervisor) { hub.publish($0) }
    try directory.prepare()
    let relay = FactRelay()
    let engine = try settings.makeEngine(engineSettings(), workers: settings.workers, relay)
    let bell = try WorkerPlaces.bell(places.serviceBell)
    let background = BackgroundCarrier(doorbell: DoorbellPull(path: places.workerBell))
    let service = TransferService(
      store: store, engine: engine, background: background, relay: relay, hub: hub, bodies: settings.bodies,
      files: settings.files,
      resumeSealer: ResumeDataSealer(secrets: keys.all), answerTagger: AnswerTagger(secrets: keys.all),
      pool: WorkerPool(name: "ferry-read", threads: 2), isAtHome: directory.watch(), now: now,
      logger: logger)
    if engine.networks.hasClasses { await engine.networks.wait() }
    let interrupted = try await StartError.ofStore { try await service.recover() }
    if interrupted > 0 {
      logger.notice("ended tasks that an earlier process left running", metadata: ["tasks": "\(interrupted)"])
    }
    let dispatcher = WebhookDispatcher(
      service: service, egress: settings.egress, roots: engine.roots,
      defaultSecret: try webhookSecret(), now: now, logger: logger)
    let loop = EventLoop(name: "ferry-http")
    bell.listen(on: loop) { service.lookForNews() }
    loop.start()
    let http = try makeServer(service, loop)
    background.onNobody { supervisor.look() }
    let group = ServiceGroup(
      configuration: .init(
        services: [
          .init(service: StoreService(store: store)),
          .init(service: EngineService(engine: engine)),
          .init(service: DispatcherService(dispatcher: dispatcher)),
          .init(service: HeartbeatService(hub: hub, service: service)),
          .init(service: CatchUpService(service: service, logger: logger)),
          .init(service: SupervisorService(supervisor: supervisor, background: background)),
          .init(
            service: RetentionService(
              service: service, retention: settings.retention,
              interval: .seconds(settings.retentionInterval), logger: logger)),
          .init(
            service: HTTPService(
              server: http, service: service, logger: logger, descriptors: descriptors)),
        ], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    try await group.run()
    await loop.stopAndJoin()
    bell.close()
  }

  /// Opens the database. Where a worker is stuck in the middle of a write, it is ended as it would be while the service runs.
  private func open(
    _ directory: DataDirectory, _ keys: SecretKeys, _ supervisor: WorkerSupervisor,
    published: @escaping @Sendable ([JournalFragment]) -> Void
  ) async throws -> SQLiteStore {
    if settings.acceptsNewDatabase { directory.setLogAside(at: now()) }
    let mayCreate = settings.acceptsNewDatabase || !directory.hasContents
    while true {
      do {
        return try directory.open(
          keys, .told(to: logger), mayCreate: mayCreate, published: published)
      } catch let error as OpeningError {
        guard error == .kept, await supervisor.watchWorker() else { throw directory.explain(error, keys) }
        logger.warning("waits for the worker, which keeps the database")
      }
    }
  }

  private func engineSettings() -> TransferEngine.Settings {
    var engine = settings.engineSettings(now: now)
    engine.memoryFiles = MemoryFiles(capacity: Int64(settings.maximumEphemeralBytes))
    engine.caches = CacheStorage(
      directory: settings.dataDirectory + "/cache", pool: engine.pool, now: now)
    return engine
  }

  private func webhookSecret() throws -> [UInt8] {
    let path = settings.webhookSecretFile ?? settings.dataDirectory + "/webhook-secret"
    return try WebhookSecret.load(path: path, mayCreate: settings.webhookSecretFile == nil)
  }

  private func makeServer(_ service: TransferService, _ loop: EventLoop) throws -> HTTPServer {
    let api = TransferAPI(
      service: service, gatekeeper: Gatekeeper(tokens: settings.tokens),
      version: .init(number: Ferry.version), logger: logger)
    var limits = HTTPServer.Limits()
    // The others are for what they ask for.
    limits.connections = min(settings.maximumConnections, Descriptors.limit / 2)
    limits.refusal = { TransferAPI.refusal($0) }
    do {
      return try HTTPServer(
        loop: loop, host: settings.host, port: settings.port, limits: limits, handler: api.handler())
    } catch let failure as HTTPServer.Failure {
      throw StartError(failure)
    }
  }
}

extension UnreadableRows {
  /// Each is an error in the log, once.
  static func told(to logger: Logger) -> UnreadableRows {
    UnreadableRows { row in
      logger.error(
        "a stored row cannot be read; it is left as it is",
        metadata: [
          "table": "\(row.table)", "id": "\(row.id)", "place": "\(row.place)", "reason": "\(row.reason)",
        ])
    }
  }
}

struct StoreService: ServiceLifecycle.Service {
  let store: SQLiteStore
  func run() async throws {
    try? await gracefulShutdown()
    await store.close()
  }
}

struct EngineService: ServiceLifecycle.Service {
  let engine: TransferEngine
  func run() async throws {
    try? await gracefulShutdown()
    await engine.stop()
  }
}

private struct DispatcherService: ServiceLifecycle.Service {
  let dispatcher: WebhookDispatcher
  func run() async throws {
    await cancelWhenGracefulShutdown { await dispatcher.run() }
  }
}

/// What takes longer than anybody is to wait for a service that starts.
private struct CatchUpService: ServiceLifecycle.Service {
  private static let pause = Duration.seconds(1)

  let service: TransferService
  let logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await untilDone("what the worker did meanwhile cannot be read") { () async throws(ServiceError) in
        try await service.catchUp()
      }
      await untilDone("what nobody wants cannot be taken away") { () async throws(ServiceError) in
        try await service.sweep()
      }
    }
    try? await gracefulShutdown()
  }

  private func untilDone(_ fault: String, _ body: () async throws(ServiceError) -> Void) async {
    while !Task.isCancelled {
      do throws(ServiceError) { return try await body() } catch {
        logger.error("\(fault)", metadata: ["error": "\(error)"])
      }
      try? await Task.sleep(for: Self.pause)
    }
  }
}

/// There is a worker while there are background sessions. It is left running at the end.
private struct SupervisorService: ServiceLifecycle.Service {
  let supervisor: WorkerSupervisor
  let background: BackgroundCarrier
  func run() async throws {
    await cancelWhenGracefulShutdown { await supervisor.run { background.isNeeded } }
  }
}

/// Every open stream says that it lives (an SSE comment each 15 s). News that could not be read when somebody rang are read now.
private struct HeartbeatService: ServiceLifecycle.Service {
  let hub: EventHub
  let service: TransferService
  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        try? await Task.sleep(for: .seconds(15))
        hub.heartbeat()
        service.lookForNews()
      }
    }
  }
}

private struct HTTPService: ServiceLifecycle.Service {
  let server: HTTPServer
  let service: TransferService
  let logger: Logger
  let descriptors: Int

  func run() async throws {
    try await server.start()
    let host = server.host.contains(":") ? "[\(server.host)]" : server.host
    logger.info(
      "listening",
      metadata: [
        "address": "\(host):\(server.port)", "descriptors": "\(descriptors)",
        "libcurl": "\(TransferEngine.libcurlVersion)",
      ])
    try? await gracefulShutdown()
    logger.info("draining")
    service.beginDraining()
    await server.drain(grace: .seconds(10))
    await server.stop()
  }
}
