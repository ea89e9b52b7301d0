import EventLoop
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
    let descriptors = ProcessLimits.raiseDescriptorLimit()
    ProcessLimits.forbidCoreFiles()
    try prepareDirectory()
    guard let lock = DirectoryLock(settings.dataDirectory) else {
      throw SettingsError("data-directory", "\(settings.dataDirectory) is in use by another process")
    }
    defer { withExtendedLifetime(lock) {} }
    let keys = try SecretKeys(settings)
    let hub = EventHub()
    let store: SQLiteStore
    do {
      store = try SQLiteStore(
        path: settings.dataDirectory + "/ferry.db", box: SecretBox(secrets: keys.all)
      ) { hub.publish($0) }
    } catch {
      throw SettingsError("data-directory", "the database cannot be opened: \(error)")
    }
    let egress = EgressPolicy(allowedNetworks: settings.allowedNetworks)
    let bodies = BodyDirectory(path: settings.dataDirectory + "/bodies")
    try bodies.prepare()
    let files = FileDirectory(path: settings.dataDirectory + "/files")
    try files.prepare()
    let relay = FactRelay()
    let engine = try makeEngine(engineSettings(egress, bodies, files), relay)
    let service = TransferService(
      store: store, engine: engine, relay: relay, hub: hub, bodies: bodies, files: files,
      resumeSealer: ResumeDataSealer(secrets: keys.all), answerTagger: AnswerTagger(secrets: keys.all),
      pool: WorkerPool(name: "ferry-read", threads: 2), now: now, logger: logger)
    if engine.networks.hasClasses { await engine.networks.wait() }
    let interrupted = try await service.recover()
    if interrupted > 0 {
      logger.notice("ended tasks that an earlier process left running", metadata: ["tasks": "\(interrupted)"])
    }
    let dispatcher = WebhookDispatcher(
      service: service, egress: egress, roots: engine.roots,
      defaultSecret: try webhookSecret(), now: now, logger: logger)
    let http = try makeServer(service)
    let group = ServiceGroup(
      configuration: .init(
        services: [
          .init(service: StoreService(store: store)),
          .init(service: EngineService(engine: engine)),
          .init(service: DispatcherService(dispatcher: dispatcher)),
          .init(service: HeartbeatService(hub: hub)),
          .init(
            service: HTTPService(
              server: http, service: service, logger: logger, descriptors: descriptors)),
        ], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    try await group.run()
  }

  private func prepareDirectory() throws {
    do {
      try FileManager.default.createDirectory(
        atPath: settings.dataDirectory, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw SettingsError("data-directory", "\(settings.dataDirectory) cannot be made: \(error)")
    }
  }

  private func makeEngine(_ engine: TransferEngine.Settings, _ relay: FactRelay) throws -> TransferEngine {
    do throws(TransferError) {
      return try TransferEngine(workers: settings.workers, settings: engine) { relay.deliver($0) }
    } catch {
      let isOfNetworks = error.reason == .url(.notConnectedToInternet)
      throw SettingsError(isOfNetworks ? "interface-class" : "ca-file", error.message)
    }
  }

  private func engineSettings(
    _ egress: EgressPolicy, _ bodies: BodyDirectory, _ files: FileDirectory
  ) -> TransferEngine.Settings {
    var engine = TransferEngine.Settings(
      egress: egress, bodies: bodies, files: files, pool: WorkerPool(name: "ferry-write", threads: 4))
    engine.smallBodyLimit = settings.smallBodyLimit
    engine.maximumBodySize = Int64(settings.maximumBodySize)
    engine.maximumActive = settings.maximumTransfers
    engine.certificateAuthorityFile = settings.certificateAuthorityFile
    engine.maximumAuthenticationAttempts = settings.maximumAuthenticationAttempts
    engine.userAgent = "Ferry/\(Ferry.version)"
    engine.networks = Networks(policy: settings.interfacePolicy)
    engine.memoryFiles = MemoryFiles(capacity: Int64(settings.maximumEphemeralBytes))
    engine.caches = CacheStorage(
      directory: settings.dataDirectory + "/cache", pool: engine.pool, now: now)
    engine.now = now
    return engine
  }

  private func webhookSecret() throws -> [UInt8] {
    let path = settings.webhookSecretFile ?? settings.dataDirectory + "/webhook-secret"
    return try WebhookSecret.load(path: path, mayCreate: settings.webhookSecretFile == nil)
  }

  private func makeServer(_ service: TransferService) throws -> HTTPServer {
    let api = TransferAPI(
      service: service, gatekeeper: Gatekeeper(tokens: settings.tokens),
      version: .init(number: Ferry.version), logger: logger)
    var limits = HTTPServer.Limits()
    limits.connections = settings.maximumConnections
    limits.malformedReply = { TransferAPI.malformedReply($0) }
    let loop = EventLoop(name: "ferry-http")
    loop.start()
    return try HTTPServer(
      loop: loop, host: settings.host, port: settings.port, limits: limits, handler: api.handler())
  }
}

private struct StoreService: ServiceLifecycle.Service {
  let store: SQLiteStore
  func run() async throws {
    try? await gracefulShutdown()
    await store.close()
  }
}

private struct EngineService: ServiceLifecycle.Service {
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

/// Every open stream says that it lives (an SSE comment each 15 s).
private struct HeartbeatService: ServiceLifecycle.Service {
  let hub: EventHub
  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        try? await Task.sleep(for: .seconds(15))
        hub.heartbeat()
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
      "listening", metadata: ["address": "\(host):\(server.port)", "descriptors": "\(descriptors)"])
    try? await gracefulShutdown()
    logger.info("draining")
    service.beginDraining()
    await server.drain(grace: .seconds(10))
    await server.stop()
  }
}
