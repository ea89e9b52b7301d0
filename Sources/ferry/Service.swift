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

/// The whole of `ferry serve`, put together: store first, HTTP last, and down in reverse.
struct Service {
  let settings: Settings
  private let logger = Logger(label: "ferry")
  private let now: @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }

  init(settings: Settings) { self.settings = settings }

  func run() async throws {
    // Before anything else, as a signal may come at any time.
    let signals = await Signals.trap()
    let environment = try ServiceEnvironment.take()
    let manager = ServiceManager(socket: environment.notifySocket)
    let inherited = try inheritedSocket(environment)
    PrivatePlaces.begin()
    let descriptors = Descriptors.raiseLimit()
    try StartError.check(descriptors: descriptors)
    ProcessLimits.forbidCoreFiles()
    let directory = DataDirectory(settings)
    let lock = try directory.take()
    PrivatePlaces.mend(settings.dataDirectory)
    defer { withExtendedLifetime(lock) {} }
    let place = try directory.place()
    let shared = SharedDirectory(place)
    // Behind all else: who stands still with the last of it is found by that, too.
    defer { shared.close() }
    let places = WorkerPlaces(settings)
    let supervisor = WorkerSupervisor(places: places, arguments: settings.workerArguments, logger: logger)
    let keys = try SecretKeys(settings, mayCreate: true)
    let box = SecretBox(secrets: keys.all)
    manager.tell(.status("Opening the database"))
    let hub = EventHub()
    let store = CompositeLedger(
      try await open(directory, keys, box, place, supervisor, wrote: shared.ring) { hub.publish($0) })
    try directory.prepare()
    let relay = FactRelay()
    let loop = EventLoop(name: "ferry-http")
    let peers = PeerClient(loop: loop) { place.socket(at: $0) }
    let cluster = Cluster(store: store, coordination: place, peers: peers)
    let engine = try settings.makeEngine(engineSettings(cluster, store), workers: settings.workers, relay)
    let background = BackgroundCarrier(doorbell: DoorbellPull(path: places.workerBell))
    var limits = TransferService.Limits()
    limits.smallBodyLimit = settings.smallBodyLimit
    let service = TransferService(
      store: store, engine: engine, background: background, relay: relay, hub: hub, cluster: cluster,
      blobs: settings.blobs,
      box: box, answerTagger: AnswerTagger(secrets: keys.all),
      pool: WorkerPool(name: "ferry-read", threads: 2), limits: limits, isAtHome: directory.watch(), now: now,
      logger: logger)
    if engine.networks.hasClasses { await engine.networks.wait() }
    shared.begin(cluster)
    let interrupted = try await StartError.ofStore { try await service.recover() }
    if interrupted > 0 {
      logger.notice("ended tasks that an earlier process left running", metadata: ["tasks": "\(interrupted)"])
    }
    let dispatcher = WebhookDispatcher(
      service: service, egress: settings.egress, authorities: engine.authorities,
      defaultSecret: try webhookSecret(), now: now, logger: logger)
    let gatehouse = Gatehouse(Gatekeeper(tokens: settings.tokens))
    let api = TransferAPI(
      service: service, gatehouse: gatehouse, version: .init(number: Ferry.version),
      parsePool: FairPool(name: "ferry-parse", threads: 2), logger: logger)
    let http = try makeServer(api, loop, inherited)
    let inner = try makePeerServer(api, loop, place)
    shared.listen(on: loop, for: cluster)
    loop.start()
    let reload = Reload(
      settings: settings, gatehouse: gatehouse, engine: engine, supervisor: supervisor, logger: logger)
    let pulse = Pulse(
      [loop.pulse, Pulse.Part("ferry-store") { store.ping($0) }, dispatcher.pulse] + engine.pulses
    ) { manager.tell(.watchdog) }
    settings.warnOfReadableSecrets(logger)
    let listening = "Listening on \(http.address)"
    background.onNobody { supervisor.look() }
    let group = ServiceGroup(
      configuration: .init(
        services: [
          .init(service: StoreService(store: store)),
          .init(service: MembershipService(shared: shared, cluster: cluster, logger: logger)),
          .init(service: EngineService(engine: engine)),
          .init(service: DispatcherService(dispatcher: dispatcher)),
          // It goes before what it asks.
          .init(service: WatchdogService(pulse: pulse, patience: environment.watchdog, logger: logger)),
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
            ) { manager.tell(.ready(listening)) }),
          .init(
            service: ReloadService(requests: signals.reloads) {
              manager.tellReloading("Reading tokens and authorities again")
              let faults = await reload.run()
              manager.tell(.ready(([listening] + faults).joined(separator: "; ")))
            }),
        ], logger: logger))
    signals.onStop {
      manager.tell(.stopping("Answering what is under way, and taking no new work"))
      Task { await group.triggerGracefulShutdown() }
      // Its end takes as long as the answers, at the same time.
      if ProcessHandle.isFirst { Task { await supervisor.endWorker(patience: Self.workersPatience) } }
    }
    try await group.run()
    await loop.stopAndJoin()
  }

  /// What the worker gets of the ten seconds after which containers are killed.
  static let workersPatience = Duration.seconds(8)

  /// The socket that a service manager listens on for this service. Without a token it has to be one that this machine alone reaches.
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
        without a token (\(SettingsCatalogue.shared.tokenFile.option)) only a loopback address or a UNIX socket is \
        allowed, not \(host)
        """)
    }
    return socket
  }

  /// How often it is seen whether services of an older version have ended.
  private static let pauseForOlder = Duration.milliseconds(100)

  /// Opens the database. Where a worker or another service is stuck in the middle of a write, it is ended as it would be while this one
  /// runs. Where those of an older version have it open that could not go on beside this one, it waits until they have ended.
  private func open(
    _ directory: DataDirectory, _ keys: SecretKeys, _ box: SecretBox, _ place: ProcessPlace,
    _ supervisor: WorkerSupervisor,
    wrote: @escaping @Sendable () -> Void, published: (@Sendable (Feed) -> Void)?
  ) async throws -> SQLiteLedger {
    if settings.acceptsNewDatabase { directory.setLogAside(at: now()) }
    let mayCreate = settings.acceptsNewDatabase || !directory.hasContents
    while true {
      do {
        // On a thread of its own, as it takes its time: whoever says meanwhile that this process lives must not wait for it.
        return try await Thread.run(name: "ferry-open") {
          try directory.open(
            keys, box, .told(to: logger), mayCreate: mayCreate, fencedOff: endAtOnce, wrote: wrote,
            published: published)
        }
      } catch let error as OpeningError {
        if error == .older {
          await supervisor.endOldWorker()
          try await Task.sleep(for: Self.pauseForOlder)
          continue
        }
        guard error == .kept else { throw directory.explain(error, keys) }
        let hasWorker = await supervisor.watchWorker()
        // Each of them has said that it lives since then, or ends.
        guard place.endTheFrozen() || hasWorker else { throw directory.explain(error, keys) }
        logger.warning("waits for another service or the worker, which keeps the database")
      }
    }
  }

  /// Nothing that this process does can be written any more: it leaves no word behind that is not true.
  private func endAtOnce() {
    logger.critical("another process has taken over: this one ends")
    _exit(EXIT_FAILURE)
  }

  private func engineSettings(_ cluster: Cluster, _ store: CompositeLedger) -> TransferEngine.Settings {
    var engine = settings.engineSettings(now: now)
    engine.mayBegin = { cluster.isCurrent }
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

  /// Where other processes hand requests on.
  private func makePeerServer(
    _ api: TransferAPI, _ loop: EventLoop, _ place: ProcessPlace
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
    // The others are for what they ask for.
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

extension UnreadableRows {
  /// Each is an error in the log, once.
  static func told(to logger: Logger) -> UnreadableRows {
    UnreadableRows { row in
      logger.error(
        "a stored row cannot be read; it is left as it is",
        metadata: [
          "table": "\(row.kind)", "id": "\(row.id)", "place": "\(row.place)", "reason": "\(row.reason)",
        ])
    }
  }
}

struct StoreService: ServiceLifecycle.Service {
  let store: any Ledger
  func run() async throws {
    try? await gracefulShutdown()
    await store.close()
  }
}

/// This service among those that share the data directory.
private struct MembershipService: ServiceLifecycle.Service {
  let shared: SharedDirectory
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

/// There is a worker while there are background sessions. It is left running at the end, where it can outlive this process: not so if
/// that is the first of a container.
private struct SupervisorService: ServiceLifecycle.Service {
  let supervisor: WorkerSupervisor
  let background: BackgroundCarrier
  let service: TransferService
  func run() async throws {
    await cancelWhenGracefulShutdown {
      await supervisor.run {
        background.isNeeded
      } mayReplace: {
        service.cluster.isYoungest
      } isKeptOut: {
        service.cluster.isKeptOut
      }
    }
    if ProcessHandle.isFirst { await supervisor.endWorker(patience: Service.workersPatience) }
  }
}

private struct HTTPService: ServiceLifecycle.Service {
  /// How long what is under way may take once this process is to end.
  private static let grace = Duration.seconds(10)
  /// How long replies may take once all sessions are elsewhere, or nobody wants them.
  private static let leastGrace = Duration.seconds(1)
  private static let pause = Duration.milliseconds(100)

  let server: HTTPServer
  /// For other processes.
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
    // Whoever can be served elsewhere does not notice.
    service.beginLeaving()
    await giveAway(until: deadline)
    service.beginDraining()
    // Those who were created in the meantime.
    _ = try? await service.cluster.giveAll()
    await server.drain(grace: max(Self.leastGrace, deadline - .now))
    await server.stop()
    await inner.stop()
    await peers.close()
  }

  /// What becomes quiet meanwhile goes as well.
  private func giveAway(until deadline: ContinuousClock.Instant) async {
    while ContinuousClock.now < deadline {
      if (try? await service.cluster.giveAll()) == true { return }
      try? await Task.sleep(for: Self.pause)
    }
  }
}
