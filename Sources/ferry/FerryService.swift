internal import Addresses
import BlobStore
import Cluster
import EngineAPI
import EventLoop
import FerrySettings
import FoundationEssentials
import Glibc
import HTTPServer
import Ledger
import Logging
import MemoryLedger
import Processes
import Records
import SQLiteLedger
import ServiceLifecycle
import TransferAPI
import TransferEngine
import TransferModel
import TransferService
import UnixSignals
import Webhooks

/// The whole of `ferry serve`. The database starts first and HTTP last; they stop in reverse order.
struct FerryService {
  let settings: Settings
  private let logger = Logger(label: "ferry")
  private let now: @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }

  init(settings: Settings) { self.settings = settings }

  func run() async throws {
    // Trap signals first, because one may arrive at any time.
    let signals = await SignalHandler.trap()
    let environment = try ServiceEnvironment.consume()
    let manager = ServiceManager(socket: environment.notifySocket)
    let inherited = try inheritedSocket(environment)
    FilePermissions.begin()
    let descriptors = Descriptors.raiseLimit()
    try StartError.check(descriptors: descriptors)
    ProcessLimits.forbidCoreFiles()
    try settings.checkDestinations()
    let directory = DataDirectory(settings)
    let lock = try directory.lockShared()
    FilePermissions.repair(settings.dataDirectory)
    defer { withExtendedLifetime(lock) {} }
    let place = try directory.register()
    let shared = ClusterHeartbeat(place)
    // Close this last, so that peers notice if the service freezes in any earlier step of its shutdown.
    defer { shared.close() }
    let places = WorkerFiles(settings)
    let supervisor = WorkerSupervisor(places: places, arguments: settings.workerArguments, logger: logger)
    let keys = try SecretKeys(settings, mayCreate: true)
    let box = SecretBox(secrets: keys.all)
    manager.notify(.status("Opening the database"))
    let hub = EventHub()
    let store = CompositeLedger(
      try await open(directory, keys, box, place, supervisor, wrote: shared.notify) { hub.publish($0) })
    try directory.prepare()
    let relay = FactCallback()
    let loop = EventLoop(name: "ferry-http")
    let peers = PeerClient(loop: loop) { place.socket(at: $0) }
    let cluster = Cluster(store: store, coordination: place, peers: peers)
    let engine = try settings.makeEngine(
      engineSettings(cluster, store), workers: settings.transferLoops, relay)
    let background = WorkerSessionRegistry(waker: WakeupClient(path: places.workerBell))
    var limits = ServiceLimits()
    limits.smallBodyLimit = settings.smallBodyLimit
    limits.firstDeliveryDelay = settings.webhookSchedule.first ?? 0
    let readers = ThreadPool(name: "ferry-read", threads: 2)
    let service = TransferService(
      store: store, engine: engine, background: background, relay: relay, hub: hub, cluster: cluster,
      blobs: settings.blobs, destinations: settings.destinations,
      box: box, answerTagger: AnswerDigester(secrets: keys.all),
      egress: settings.egress, pool: readers, limits: limits,
      isAtHome: directory.presenceCheck(),
      now: now,
      logger: logger)
    if engine.networks.hasClasses { await engine.networks.wait() }
    shared.begin(cluster)
    let interrupted = try await StartError.describingLedgerErrors { try await service.recover() }
    if interrupted > 0 {
      logger.notice("ended tasks that an earlier service left running", metadata: ["tasks": "\(interrupted)"])
    }
    let sender = WebhookSender(egress: settings.egress, authorities: engine.authorities)
    let dispatcher = WebhookDispatcher(
      service: service, sender: sender, schedule: DeliverySchedule(settings.webhookSchedule),
      defaultSecret: try webhookSecret(), clocks: DispatcherClocks(now: now, timers: sender.timers),
      logger: logger)
    let authenticator = ReloadableAuthenticator(RequestAuthenticator(tokens: settings.tokens))
    let api = TransferAPI(
      service: service, authenticator: authenticator, version: .init(number: Ferry.version),
      reports: ServiceReports(settings, readers),
      parsePool: FairPool(name: "ferry-parse", threads: 2), logger: logger)
    let http = try makeServer(api, loop, inherited)
    let inner = try makePeerServer(api, loop, place)
    shared.listen(on: loop, for: cluster)
    loop.start()
    let reload = Reload(
      settings: settings, authenticator: authenticator, engine: engine, supervisor: supervisor, logger: logger
    )
    let liveness = LivenessProbe(
      [
        loop.livenessComponent, LivenessProbe.Component("ferry-store") { store.ping($0) },
        sender.livenessComponent,
      ]
        + engine.pulses
    ) { manager.notify(.watchdog) }
    settings.warnOfReadableSecrets(logger)
    let listening = "Listening on \(http.address)"
    background.onNoWorker { supervisor.workerNeeded() }
    let group = ServiceGroup(
      configuration: .init(
        services: [
          .init(service: LedgerService(store: store)),
          .init(service: ClusterService(shared: shared, cluster: cluster, logger: logger)),
          .init(service: EngineService(engine: engine)),
          .init(service: DispatcherService(dispatcher: dispatcher, sender: sender)),
          // The watchdog stops before the parts that it checks.
          .init(service: WatchdogService(liveness: liveness, patience: environment.watchdog, logger: logger)),
          .init(service: HeartbeatService(hub: hub, service: service)),
          .init(service: CatchUpService(service: service, logger: logger)),
          .init(
            service: SupervisorService(
              supervisor: supervisor, background: background, service: service)),
          .init(
            service: RetentionService(
              service: service, retention: settings.retention,
              interval: .seconds(settings.retentionInterval), logger: logger)),
          .init(
            service: HTTPService(
              server: http, inner: inner, peers: peers, service: service, logger: logger,
              descriptors: descriptors
            ) { manager.notify(.ready(listening)) }),
          .init(
            service: ReloadService(requests: signals.reloads) {
              manager.tellReloading("Reading tokens and certificate authorities again")
              let faults = await reload.run()
              manager.notify(.ready(([listening] + faults).joined(separator: "; ")))
            }),
        ], logger: logger))
    signals.onStop {
      manager.notify(.stopping("Finishing running requests, and accepting no new ones"))
      Task { await group.triggerGracefulShutdown() }
      // The worker ends while the service still answers, because both take time.
      if ProcessHandle.isInit { Task { await supervisor.endWorker(patience: Self.workerStopTimeout) } }
    }
    try await group.run()
    await loop.stopAndJoin()
  }

  /// The worker's part of the ten seconds after which containers are killed.
  static let workerStopTimeout = Duration.seconds(8)

  /// Returns the listening socket from the service manager. Without a token only this machine may be able to reach it.
  private func inheritedSocket(_ environment: ServiceEnvironment) throws -> ListeningSocket? {
    guard let descriptor = try environment.socket else { return nil }
    let socket: ListeningSocket
    do throws(HTTPServer.Failure) { socket = try ListeningSocket(inherited: descriptor) } catch {
      throw StartError(of: "LISTEN_FDS", error.message)
    }
    if settings.tokens.isEmpty, case .internet(let host, _) = socket.address,
      IPAddress(host)?.isLoopback != true
    {
      throw StartError(
        of: "LISTEN_FDS",
        """
        \(host) can be reached from other machines, which requires a token; give \
        \(SettingsCatalogue.shared.tokenFile.option), or pass a loopback address or a UNIX socket
        """)
    }
    return socket
  }

  /// The pause before the next check whether services of an older version have ended.
  private static let pauseForOlder = Duration.milliseconds(100)

  /// Opens the database. A worker or another service that is stuck in a write is killed, as during normal operation. If incompatible
  /// older versions have the database open, the service waits until they have ended.
  private func open(
    _ directory: DataDirectory, _ keys: SecretKeys, _ box: SecretBox, _ place: ProcessRegistration,
    _ supervisor: WorkerSupervisor,
    wrote: @escaping @Sendable () -> Void, published: (@Sendable (Feed) -> Void)?
  ) async throws -> SQLiteLedger {
    if settings.acceptsNewDatabase { directory.quarantineStaleLog(at: now()) }
    let mayCreate = settings.acceptsNewDatabase || !directory.hasContents
    while true {
      do {
        // Opening may take long, and a separate thread keeps it from delaying this process's heartbeat.
        return try await POSIXThread.run(name: "ferry-open") {
          try directory.open(
            keys, box, .logging(to: logger), mayCreate: mayCreate, fencedOff: exitImmediately, wrote: wrote,
            published: published)
        }
      } catch let error as OpeningError {
        if error == .older {
          await supervisor.endOldWorker()
          try await Task.sleep(for: Self.pauseForOlder)
          continue
        }
        guard error == .lockedByOther else { throw directory.explain(error, keys) }
        let hasWorker = await supervisor.watchWorker()
        // After these calls each other process has sent a heartbeat or is killed. Without any, waiting would not help.
        guard place.killUnresponsivePeers() || hasWorker else { throw directory.explain(error, keys) }
        logger.warning("waiting for another service or the worker, which keeps the database locked")
      }
    }
  }

  /// Ends the process at once. Another process has taken over, so this one can write nothing and must not send further replies.
  private func exitImmediately() {
    logger.critical("another service has taken over the data directory; this service ends")
    _exit(EXIT_FAILURE)
  }

  private func engineSettings(_ cluster: Cluster, _ store: CompositeLedger) -> TransferEngine.Settings {
    var engine = settings.engineSettings(now: now)
    engine.mayBegin = { cluster.hasValidLease }
    engine.memoryFiles = MemoryFiles(capacity: Int64(settings.maximumEphemeralBytes)) {
      Int64(store.memory.memorySize)
    }
    engine.caches = CacheStorage(directory: settings.path(of: .cache), pool: engine.pool, now: now)
    return engine
  }

  private func webhookSecret() throws -> [UInt8] {
    let path = settings.webhookSecretFile ?? settings.path(of: .webhookSecret)
    return try WebhookSecret.load(path: path, mayCreate: settings.webhookSecretFile == nil)
  }

  /// Makes the server for requests that other services forward.
  private func makePeerServer(
    _ api: TransferAPI, _ loop: EventLoop, _ place: ProcessRegistration
  ) throws -> HTTPServer {
    let socket: ListeningSocket
    do throws(HTTPServer.Failure) {
      socket = try ListeningSocket(inherited: place.listener.descriptor)
    } catch {
      throw StartError(error)
    }
    return HTTPServer(loop: loop, socket: socket, limits: limits, handler: api.peerHandler())
  }

  private var limits: HTTPServer.Limits {
    var limits = HTTPServer.Limits()
    // The other half of the descriptors is for the work that clients request.
    limits.connections = min(settings.maximumConnections, Descriptors.limit / 2)
    limits.refusal = { TransferAPI.refusal($0) }
    return limits
  }

  private func makeServer(
    _ api: TransferAPI, _ loop: EventLoop, _ inherited: ListeningSocket?
  ) throws -> HTTPServer {
    return HTTPServer(
      loop: loop, socket: try inherited ?? listeningSocket(), limits: limits, handler: api.handler())
  }

  private func listeningSocket() throws -> ListeningSocket {
    do throws(HTTPServer.Failure) {
      return try ListeningSocket(hosts: settings.listen.hosts, port: settings.listen.port)
    } catch {
      throw StartError(error)
    }
  }
}

struct LedgerService: ServiceLifecycle.Service {
  let store: any Ledger
  func run() async throws {
    try? await gracefulShutdown()
    await store.close()
  }
}

/// The membership of this service among those that share the data directory.
private struct ClusterService: ServiceLifecycle.Service {
  let shared: ClusterHeartbeat
  let cluster: Cluster
  let logger: Logger
  func run() async throws {
    await cancelWhenGracefulShutdown { await shared.attend(cluster, logger) }
    await shared.depart(cluster)
  }
}

struct EngineService: ServiceLifecycle.Service {
  let engine: TransferEngine
  func run() async throws {
    try? await gracefulShutdown()
    await engine.stop()
  }
}

/// Start-up work that is too long to delay the start.
private struct CatchUpService: ServiceLifecycle.Service {
  private static let pause = Duration.seconds(1)

  let service: TransferService
  let logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await untilDone("cannot read the results of the worker; Ferry tries again") {
        () async throws(ServiceError) in
        try await service.catchUp()
      }
      await untilDone("cannot remove unwanted files; Ferry tries again") { () async throws(ServiceError) in
        try await service.collectOrphans()
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

/// Keeps a worker running while there are background sessions. The worker outlives this process, unless this is the first process of a
/// container.
private struct SupervisorService: ServiceLifecycle.Service {
  let supervisor: WorkerSupervisor
  let background: WorkerSessionRegistry
  let service: TransferService
  func run() async throws {
    await cancelWhenGracefulShutdown {
      await supervisor.run {
        background.isNeeded
      } mayReplace: {
        service.cluster.isLeader
      } isKeptOut: {
        service.cluster.isBlockedFromLedger
      }
    }
    if ProcessHandle.isInit { await supervisor.endWorker(patience: FerryService.workerStopTimeout) }
  }
}

private struct HTTPService: ServiceLifecycle.Service {
  /// The time limit for running requests after the stop signal.
  private static let grace = Duration.seconds(10)
  /// The minimum time for replies after all sessions were handed over.
  private static let leastGrace = Duration.seconds(1)
  private static let pause = Duration.milliseconds(100)

  let server: HTTPServer
  /// The server for forwarded requests of other services.
  let inner: HTTPServer
  let peers: PeerClient
  let service: TransferService
  let logger: Logger
  let descriptors: Int
  let isListening: @Sendable () -> Void

  func run() async throws {
    try await inner.start()
    try await server.start()
    logger.info(
      "listening",
      metadata: [
        "address": "\(server.address)", "descriptors": "\(descriptors)",
        "libcurl": "\(TransferEngine.libcurlVersion)",
      ])
    isListening()
    try? await gracefulShutdown()
    logger.info("draining")
    let deadline = ContinuousClock.now + Self.grace
    // Sessions that other services can take are handed over first, so that clients notice nothing.
    service.beginLeaving()
    await giveAway(until: deadline)
    service.beginDraining()
    // Hand over sessions that were created in the meantime.
    _ = try? await service.cluster.handOverAll()
    await server.drain(grace: max(Self.leastGrace, deadline - .now))
    await server.stop()
    await inner.stop()
    await peers.close()
  }

  /// Hands over shards, including those that become idle meanwhile, until the deadline.
  private func giveAway(until deadline: ContinuousClock.Instant) async {
    while ContinuousClock.now < deadline {
      if (try? await service.cluster.handOverAll()) == true { return }
      try? await Task.sleep(for: Self.pause)
    }
  }
}
