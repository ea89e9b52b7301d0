package import BlobStore
package import Cluster
package import EngineAPI
package import EventLoop
internal import HTTPCookies
package import JSON
package import Ledger
internal import Limits
package import Logging
package import Records
internal import Synchronization
internal import TransferCore
package import TransferModel

// Within `TransferService`, `Limits` is the service's own.
private let mostUnfinishedTasks = Limits.unfinishedTasks.value
private let mostSubmittedBytes = Limits.submittedTaskBytes.value

/// Sessions and tasks as a service: builds the rooms where that is done, and opens their doors.
///
/// Clients come in by a `TenantView`. What is decided about sessions and tasks, `SessionMachine` decides; `MachineRoom` carries it out.
package final class TransferService: Sendable {
  package struct Limits: Sendable {
    /// Tasks of one session that have not ended.
    package var unfinishedTasks = mostUnfinishedTasks
    /// Bytes of a body that comes inline with its task.
    package var smallBodyLimit = 32 * 1024
    /// Bytes that clients chose of a task that stays in memory while it waits; larger ones are read from their rows.
    package var residentTaskBytes = 1024
    /// Bytes that clients chose of all submitted large tasks of a session.
    package var submittedTaskBytes = mostSubmittedBytes
    package init() {}
  }

  let room: MachineRoom
  let sessions: Sessions
  let cookies: SessionCookies
  let credentials: SessionCredentials
  let caches: SessionCaches
  let tasks: Tasks
  let ownership: Ownership
  let resumption: Resumption
  let decisions: Decisions
  let bodies: Bodies
  let files: Files
  package let spools: BodySpoolFactory
  let configurations: Configurations
  let streams: EventStreams
  let outbox: Outbox
  let news: NewsReader
  let sweeper: Sweeper
  package let idempotency: IdempotencyKeys
  let probes: Probes
  package let identifiers: IdentifierSource
  package let cluster: Cluster
  private let shards: LocalShards
  private let pruner: Pruner
  /// Whether the data directory is where it was. It may wait for a disk.
  private let isAtHome: @Sendable () -> Bool

  /// - Parameters:
  ///   - relay: what the engine delivers its facts to; the service connects itself to it.
  ///   - cluster: of the services that share the store; nil: there is no other.
  ///   - box: seals resume data.
  ///   - pool: threads that fetch from the disk what is not in memory.
  ///   - isAtHome: whether the data directory is where it was; called on the pool.
  ///   - uptime: a monotonic clock.
  ///   - alarms: keep the time of deadlines in place of the system's timer.
  ///   - seed: of the ids that it makes.
  ///   - spawn: how it does something beside everything else.
  package init(
    store: any Ledger, engine: any LocalCarrier, background: BackgroundCarrier? = nil,
    relay: FactRelay, hub: EventHub, cluster: Cluster? = nil, blobs: any BlobStore,
    box: SecretBox, answerTagger: AnswerTagger, pool: WorkerPool, limits: Limits = Limits(),
    isAtHome: @escaping @Sendable () -> Bool = { true }, now: @escaping @Sendable () -> Timestamp,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, alarms: Alarms? = nil,
    seed: UInt64 = .random(in: 0 ... .max), spawn: Spawn = Spawn(), logger: Logger
  ) {
    let cluster = cluster ?? Cluster(store: store, uptime: uptime)
    self.cluster = cluster
    let recorder = Recorder(store: store, background: background)
    var seeds = RandomSource(seed: seed)
    identifiers = IdentifierSource(seed: seeds.next(), now: now)
    room = MachineRoom(
      cluster: cluster, engine: engine, background: background, hub: hub, recorder: recorder, pool: pool,
      seed: seeds.next(),
      now: now, uptime: uptime, alarms: alarms, spawn: spawn)
    sessions = Sessions(room: room, identifiers: identifiers, limits: limits)
    cookies = SessionCookies(sessions: sessions)
    credentials = SessionCredentials(sessions: sessions)
    caches = SessionCaches(sessions: sessions)
    tasks = Tasks(room: room, sessions: sessions, identifiers: identifiers)
    ownership = Ownership(sessions: sessions, tasks: tasks)
    resumption = Resumption(tasks: tasks, ownership: ownership, sealer: ResumeDataSealer(box: box))
    bodies = Bodies(room: room, tasks: tasks, smallBodyLimit: limits.smallBodyLimit)
    files = Files(blobs: blobs, bodies: bodies, ownership: ownership)
    spools = BodySpoolFactory(files: files)
    decisions = Decisions(room: room, sessions: sessions, files: files, tagger: answerTagger)
    configurations = Configurations(recorder: recorder, now: now)
    streams = EventStreams(room: room, now: now, spawn: spawn)
    outbox = Outbox(room: room, now: now)
    news = NewsReader(room: room, spawn: spawn, logger: logger)
    sweeper = Sweeper(room: room, blobs: blobs, now: now, logger: logger)
    shards = LocalShards(
      sessions: sessions, recovery: Recovery(sessions: sessions, news: news, blobs: blobs, logger: logger))
    pruner = Pruner(bodies: bodies, sweeper: sweeper)
    idempotency = IdempotencyKeys(store: store, now: now)
    probes = Probes { url, timeout in try await engine.reach(url, timeout: timeout) }
    self.isAtHome = isAtHome
    relay.connect { [weak room] in room?.absorb($0) }
    engine.storages.connect(
      SessionStorages.Source(StorageReader(store: store, now: now, logger: logger), in: room))
    engine.credentials.onChange { session, changes in
      guard background?.has(session) != true else { return }
      store.record(StoreChange(changes, of: session)) {}
    }
    engine.cookies.onChange { session, changes in
      guard background?.has(session) != true else { return }
      var change = StoreChange()
      change.cookies = changes.map { (session, $0) }
      change.owner = session
      store.record(change) {}
    }
  }

  // MARK: Its life

  /// Takes up what an earlier process left: sessions, suspended tasks, and the end of those that were running.
  /// Returns how many tasks it ended. Called once, before anyone is served; what takes longer than that may is done by `catchUp`
  /// and `sweep`, beside serving.
  package func recover() async throws(ServiceError) -> Int {
    let interrupted: Int
    do throws(StoreError) { interrupted = try await cluster.join(as: shards) } catch { throw .store(error) }
    do throws(BlobError) { try await sweeper.noteFoundFiles() } catch { throw .blob(error) }
    return interrupted
  }

  /// Finds out how far the process has come that carries background tasks out. Called once, after `recover`; again where it fails.
  package func catchUp() async throws(ServiceError) {
    do throws(StoreError) { try await cluster.catchUp() } catch { throw .store(error) }
  }

  /// Looks once at every file that an earlier process left. Called after `catchUp`.
  package func sweep() async throws(ServiceError) { try await sweeper.sweep() }

  /// Takes away what is older than it has to be kept, and of what then is too much the oldest.
  package func prune(by retention: Retention) async throws(ServiceError) -> PrunedCounts {
    // One for all that share the disk.
    try await pruner.prune(by: retention, in: cluster.isYoungest ? [.memory, .durable] : [.memory])
  }

  /// Other processes may have written something, or have taken over.
  package func follow() { room.recorder.store.follow() }

  /// There may be news from the process that carries background tasks out.
  package func lookForNews() { news.look() }

  /// Refuses new tasks and sessions from now on, and lets go of those who wait for a task's end for as long as they like.
  package func beginDraining() { room.waiters.beginDraining() }

  /// The service is about to stop, and its sessions go to another. Requests are carried out until they have.
  package func beginLeaving() { room.waiters.beginLeaving() }

  /// True once the service is about to stop.
  package var isDraining: Bool { room.waiters.isDraining }
  package var isLeaving: Bool { room.waiters.isLeaving }

  // MARK: Its state

  /// True while the store takes writes.
  package var isReady: Bool { room.recorder.store.refusal == nil }

  /// Why nothing can be done for clients at the moment; nil where it can.
  package func obstacle() async -> String? {
    guard isReady else { return "the store takes no writes" }
    let isAtHome = await withCheckedContinuation { continuation in
      room.pool.submit { [self] in continuation.resume(returning: self.isAtHome()) }
    }
    return isAtHome ? nil : "the data directory, or a part of it, was taken away"
  }

  /// How many documents of another version stay in the store because nobody can read them. Their tasks wait for a process that
  /// can.
  package var refusedDocuments: Int { news.refusedDocuments }

  // MARK: Messages

  /// Calls `ring` whenever messages were committed to the outbox.
  package func onOutboxNews(_ ring: @escaping @Sendable () -> Void) {
    room.recorder.outboxBell.connect(ring)
  }

  /// Messages whose next attempt is due.
  package func dueDeliveries(limit: Int) async throws(ServiceError) -> [WebhookDelivery] {
    try await outbox.due(limit: limit)
  }

  /// The webhook that receives a message; nil if its session cannot be read.
  package func webhook(of delivery: WebhookDelivery) -> Webhook? { outbox.webhook(of: delivery) }

  /// When the next attempt is due; nil where the outbox is empty.
  package func nextDeliveryTime() async throws(ServiceError) -> Timestamp? { try await outbox.nextTime() }

  /// A message is about to be sent.
  package func willAttempt(_ delivery: WebhookDelivery) async { await outbox.willAttempt(delivery) }

  /// Writes what came of attempts; `settled` is called once that is on the disk, or another process's to find out.
  package func recordAttempts(_ deliveries: [WebhookDelivery], settled: @escaping @Sendable () -> Void) {
    outbox.record(deliveries, settled: settled)
  }

  /// Answers a decision with the reply of a webhook to the message that asked.
  package func answer(to message: WebhookDelivery, with value: JSONValue) async throws {
    guard let id = message.decisionID else { return }
    _ = try await decisions.answer(decisions.decision(id), with: value)
  }

  // MARK: Sessions as a whole

  /// Whether an origin can be reached now.
  /// - Parameter hasTenants: tokens are configured, so each tenant has its own limit.
  func reach(_ question: ProbeQuestion, hasTenants: Bool) async throws -> Reachability {
    try await probes.answer(question, hasTenants: hasTenants)
  }

  /// URLSession.reset(): no cookie, no cached response and no credential is left, and requests from here on open
  /// connections of their own.
  func reset(_ id: SessionID) async throws(ServiceError) -> TransferSession {
    let session = try await sessions.whole(sessions.session(id))
    try await cookies.remove(of: id, CookieFilter())
    try await credentials.remove(of: id) { _ in true }
    try await caches.empty(of: id)
    try await sessions.resetConnections(of: id)
    return session
  }

  /// Forgets an invalid session, its tasks, their bodies and events.
  func deleteSession(_ id: SessionID) async throws(ServiceError) {
    guard !id.isShared else { throw .sharedSession }
    let session = try sessions.session(id)
    guard session.state == .invalid else { throw .sessionNotInvalid }
    let found = try await bodies.keys(of: id)
    let blobs = bodies.blobs(of: id)
    let rows = try await news.rows(of: id)
    try await sessions.delete(session, andNews: rows)
    news.forget(rows)
    room.pool.submit { blobs.startDeleting(found) }
  }

  // MARK: URLs

  /// Why a task or a webhook cannot use this URL; nil where it can.
  package static func fault(ofURL url: String) -> TransferError? { OriginURL.fault(url) }

  /// The host and path that a request for the URL would go to; nil where there is none.
  package static func place(ofURL url: String) -> (host: String, path: String)? { OriginURL.place(url) }

  /// Why these cannot be a session's authorities; nil where they can.
  package static func fault(ofRoots pem: String) -> SessionConfiguration.RootsFault? {
    SessionTrust.fault(ofRoots: pem)
  }
}
