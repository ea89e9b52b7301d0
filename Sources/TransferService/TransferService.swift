package import Addresses
package import BlobStore
package import Cluster
package import EngineAPI
package import EventLoop
internal import HTTPCookies
internal import HTTPFields
package import Ledger
package import Logging
package import Records
internal import Synchronization
internal import TransferCore
package import TransferModel

/// The service that the API calls. It builds the parts and passes calls to them.
///
/// Clients use it through a `TenantView`. `SessionMachine` decides about sessions and tasks; `SessionRuntime` carries out its
/// decisions.
package final class TransferService: Sendable {
  let runtime: SessionRuntime
  let sessions: Sessions
  let cookies: SessionCookies
  let credentials: SessionCredentials
  let caches: SessionCaches
  let tasks: Tasks
  let lists: TaskLists
  let deletion: TaskDeletion
  let eventPages: EventPages
  let groups: TaskGroups
  let authorization: TenantAuthorization
  let resumeData: ResumeDataOperations
  let decisions: Decisions
  let bodies: Bodies
  let files: Files
  package let spools: BodySpoolFactory
  let configurations: Configurations
  let streams: EventStreams
  let endpoints: Endpoints
  let outbox: Outbox
  let deliveries: Deliveries
  let workerReports: WorkerReportReader
  let orphans: OrphanCollector
  package let idempotency: IdempotencyKeys
  let probes: ReachabilityProbes
  package let identifiers: IdentifierSource
  package let cluster: Cluster
  private let shards: LocalShardHolder
  private let pruner: Pruner
  private let egress: EgressPolicy?
  /// Whether the data directory still exists at its path. The call may block on the disk.
  private let dataDirectoryExists: @Sendable () -> Bool

  /// - Parameters:
  ///   - background: the sessions that the worker runs, or `nil` if this process runs them.
  ///   - relay: delivers the engine's facts; the service connects itself to it.
  ///   - cluster: the services that share the ledger, or `nil` if this service is alone.
  ///   - destinations: the files at destinations; `nil` if no directory is opened.
  ///   - box: seals resume data.
  ///   - egress: the addresses that webhooks may have; `nil` for all.
  ///   - pool: threads for reads that block on the disk.
  ///   - isAtHome: whether the data directory still exists at its path; called on the pool.
  ///   - uptime: a monotonic clock.
  ///   - alarms: the timer of deadlines, or `nil` for the system's timer.
  ///   - seed: the seed of the service's ids.
  ///   - spawn: starts detached tasks.
  ///   - destinationPool: threads that write the files of destinations, or `nil` for new ones.
  package init(
    store: any Ledger, engine: any TransferExecuting, background: WorkerSessionRegistry? = nil,
    relay: FactCallback, hub: EventHub, cluster: Cluster? = nil, blobs: any BlobStore,
    destinations: (any DestinationStore)? = nil,
    box: SecretBox, answerTagger: AnswerDigester, egress: EgressPolicy? = nil, pool: ThreadPool,
    limits: ServiceLimits = ServiceLimits(),
    isAtHome: @escaping @Sendable () -> Bool = { true }, now: @escaping @Sendable () -> Timestamp,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, timers: TimerSource? = nil,
    seed: UInt64 = .random(in: 0 ... .max), spawn: TaskSpawner = TaskSpawner(),
    destinationPool: ThreadPool? = nil, logger: Logger
  ) {
    let cluster = cluster ?? Cluster(store: store, uptime: uptime)
    self.cluster = cluster
    let recorder = ChangeRecorder(store: store, background: background)
    var seeds = RandomSource(seed: seed)
    identifiers = IdentifierSource(seed: seeds.next(), now: now)
    let registry = EndpointRegistry()
    let toEndpoints = EndpointDeliveries(
      registry: registry, identifiers: identifiers, firstDelay: limits.firstDeliveryDelay)
    runtime = SessionRuntime(
      cluster: cluster, engine: engine, background: background, hub: hub, endpoints: toEndpoints,
      recorder: recorder, pool: pool,
      placer: FilePlacer(
        destinations,
        pool: destinationPool ?? ThreadPool(name: "ferry-place", threads: destinations == nil ? 0 : 4)),
      seed: seeds.next(),
      now: now, uptime: uptime, timers: timers, spawn: spawn)
    sessions = Sessions(runtime: runtime, identifiers: identifiers, limits: limits)
    cookies = SessionCookies(sessions: sessions)
    credentials = SessionCredentials(sessions: sessions)
    caches = SessionCaches(sessions: sessions)
    tasks = Tasks(runtime: runtime, sessions: sessions, identifiers: identifiers)
    lists = TaskLists(tasks: tasks)
    authorization = TenantAuthorization(sessions: sessions, tasks: tasks)
    resumeData = ResumeDataOperations(
      tasks: tasks, authorization: authorization, sealer: ResumeDataSealer(box: box))
    bodies = Bodies(runtime: runtime, tasks: tasks, smallBodyLimit: limits.smallBodyLimit)
    deletion = TaskDeletion(bodies: bodies)
    files = Files(blobs: blobs, bodies: bodies, authorization: authorization)
    spools = BodySpoolFactory(files: files)
    decisions = Decisions(runtime: runtime, sessions: sessions, files: files, tagger: answerTagger)
    configurations = Configurations(recorder: recorder, now: now)
    streams = EventStreams(runtime: runtime, now: now, spawn: spawn)
    endpoints = Endpoints(
      registry: registry, recorder: recorder, sessions: sessions, deliveries: toEndpoints,
      identifiers: identifiers, spawn: spawn, logger: logger)
    outbox = Outbox(runtime: runtime, decisions: decisions, endpoints: endpoints, now: now)
    deliveries = Deliveries(outbox: outbox, recorder: recorder, now: now)
    eventPages = EventPages(streams: streams)
    groups = TaskGroups(
      pages: eventPages,
      completer: GroupCompleter(
        runtime: runtime, deliveries: toEndpoints, now: now, logger: logger))
    workerReports = WorkerReportReader(runtime: runtime, spawn: spawn, logger: logger)
    orphans = OrphanCollector(runtime: runtime, blobs: blobs, now: now, logger: logger)
    shards = LocalShardHolder(
      sessions: sessions,
      recovery: Recovery(sessions: sessions, workerReports: workerReports, blobs: blobs, logger: logger),
      endpoints: endpoints)
    pruner = Pruner(bodies: bodies, orphans: orphans)
    idempotency = IdempotencyKeys(store: store, now: now)
    probes = ReachabilityProbes { url, timeout in try await engine.probe(url, timeout: timeout) }
    self.egress = egress
    self.dataDirectoryExists = isAtHome
    relay.connect { [weak runtime] in runtime?.handle($0) }
    engine.storages.connect(
      SessionStorageLoader.Source(SessionStorageReader(store: store, now: now, logger: logger), in: runtime))
    engine.credentials.onChange { session, changes in
      guard background?.has(session) != true else { return }
      store.record(LedgerChange(changes, of: session)) {}
    }
    engine.cookies.onChange { session, changes in
      guard background?.has(session) != true else { return }
      var change = LedgerChange()
      change.cookies = changes.map { (session, $0) }
      change.owner = session
      store.record(change) {}
    }
  }

  // MARK: Life cycle

  /// Recovers the sessions and tasks of earlier processes, and ends default tasks that were running. Call it once, before
  /// requests are served. Slow work is left to `catchUp` and `collectOrphans`, which run while requests are served.
  /// - Returns: the number of tasks that it ended.
  package func recover() async throws(ServiceError) -> Int {
    // Recovered tasks may end, and their ends are messages.
    try await endpoints.refresh()
    let interrupted: Int
    do throws(LedgerError) { interrupted = try await cluster.join(as: shards) } catch { throw .store(error) }
    do throws(BlobError) { try await orphans.listFilesAtStart() } catch { throw .blob(error) }
    return interrupted
  }

  /// Reads the worker's progress. Call it once after `recover`, and again if it throws.
  package func catchUp() async throws(ServiceError) {
    do throws(LedgerError) { try await cluster.catchUp() } catch { throw .store(error) }
  }

  /// Checks all files of earlier processes once. Call it after `catchUp`.
  package func collectOrphans() async throws(ServiceError) { try await orphans.collect() }

  /// Deletes expired rows and files, then the oldest bodies beyond the limit of bytes.
  package func prune(by retention: Retention) async throws(ServiceError) -> PrunedCounts {
    try await outbox.expire(by: identifiers.now().adding(seconds: -retention.deliveries))
    // The service that closed a group may have died before it completed the group.
    if cluster.isLeader { runtime.groupCallback.deliver(nil) }
    lookForMessages()
    // One service prunes the database that all share.
    return try await pruner.prune(by: retention, in: cluster.isLeader ? [.memory, .durable] : [.memory])
  }

  /// Looks for messages that another service left to this one. It may have died before it sent a notification about them.
  package func lookForMessages() {
    if !cluster.isSingleNode { runtime.recorder.outboxChanged.deliver(.isUnknown) }
  }

  /// Publishes the commits of other processes, and notices a take-over.
  package func publishRemoteCommits() {
    runtime.recorder.store.publishRemoteCommits()
    guard !cluster.isSingleNode else { return }
    endpoints.refreshSoon()
  }

  /// Looks for reports from the worker.
  package func pollWorkerReports() { workerReports.poll() }

  /// Refuses new tasks and sessions from now on, and ends the waits of clients that wait without a limit.
  package func beginDraining() { runtime.waiters.beginDraining() }

  /// Notes that the service hands its sessions over. Requests are served until the handover is complete.
  package func beginLeaving() { runtime.waiters.beginLeaving() }

  /// Whether the service is about to stop.
  package var isDraining: Bool { runtime.waiters.isDraining }
  package var isLeaving: Bool { runtime.waiters.isLeaving }

  // MARK: State

  /// Whether the ledger accepts writes.
  package var isReady: Bool { runtime.recorder.store.refusal == nil }

  /// - Returns: why the service cannot serve clients now (`/readyz`), or `nil` if it can.
  package func readinessFailure() async -> String? {
    guard isReady else { return "the database cannot be written; check the disk" }
    let isAtHome = await withCheckedContinuation { continuation in
      runtime.pool.submit { [self] in continuation.resume(returning: self.dataDirectoryExists()) }
    }
    return isAtHome
      ? nil
      : "the data directory, or a part of it, was removed or replaced; restore it, or restart the service"
  }

  /// The number of unreadable documents of another version in the queues. Their tasks wait for a process that can read them.
  package var refusedDocuments: Int { workerReports.refusedDocuments }

  // MARK: Whole sessions

  /// Checks whether an origin can be reached now.
  /// - Parameter hasTenants: whether tokens are configured, so that each tenant has its own limit.
  func probe(_ question: ProbeRequest, hasTenants: Bool) async throws -> Reachability {
    try await probes.run(question, hasTenants: hasTenants)
  }

  /// `URLSession.reset()`: deletes cookies, cached responses and credentials. Later requests open new connections.
  func reset(_ id: SessionID) async throws(ServiceError) -> TransferSession {
    let session = try await sessions.withConfiguration(sessions.session(id))
    try await cookies.remove(of: id, CookieFilter())
    try await credentials.remove(of: id) { _ in true }
    try await caches.empty(of: id)
    try await sessions.resetConnections(of: id)
    return session
  }

  /// Deletes an invalidated session with its tasks, their bodies and events.
  func deleteSession(_ id: SessionID) async throws(ServiceError) {
    guard !id.isShared else { throw .sharedSession }
    let session = try sessions.session(id)
    guard session.state == .invalid else { throw .sessionNotInvalid }
    let found = try await bodies.keys(of: id)
    let blobs = bodies.blobs(of: id)
    let rows = try await workerReports.rows(of: id)
    try await sessions.delete(session, andNews: rows)
    workerReports.forget(rows)
    runtime.pool.submit { blobs.startDeleting(found) }
  }

  // MARK: URLs

  /// - Returns: why a task or webhook cannot use this URL, or `nil` if it can.
  package static func fault(ofURL url: String) -> TransferError? { OriginURL.fault(url) }

  /// - Returns: the rule that refuses a URL whose host is an address or `localhost`; `nil` if the URL is allowed. Names are judged at each
  ///   attempt, by the addresses that they then have.
  func egressRule(against url: String) -> String? {
    guard let egress, let host = OriginURL.hostAndPath(url)?.host else { return nil }
    let name = host.hasSuffix(".") ? String(host.dropLast()) : host
    let isLocal = name.lowercasedASCII == "localhost" || name.lowercasedASCII.hasSuffix(".localhost")
    let addresses = isLocal ? [IPAddress("127.0.0.1"), IPAddress("::1")] : [IPAddress(name)]
    let rules = addresses.compactMap(\.self).map { address -> String? in
      if case .denied(let rule) = egress.classify(address) { rule } else { nil }
    }
    guard !rules.isEmpty, !rules.contains(nil) else { return nil }
    return rules[0]
  }

  /// - Returns: the host and path of a request for the URL, or `nil` if the URL has none.
  package static func place(ofURL url: String) -> (host: String, path: String)? { OriginURL.hostAndPath(url) }

  /// - Returns: whether two URLs have the same scheme, host and port.
  package static func isSameOrigin(_ one: String, _ other: String) -> Bool {
    OriginURL.isSameOrigin(one, other)
  }

  /// - Returns: why this PEM text cannot be a session's certificate authorities, or `nil` if it can.
  package static func fault(ofRoots pem: String) -> SessionConfiguration.CertificateAuthorityError? {
    TrustConfigurationCheck.fault(ofRoots: pem)
  }
}
