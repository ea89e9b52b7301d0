package import EventLoop
package import Logging
internal import Synchronization
internal import TransferCore
package import TransferEngine
package import TransferModel
package import TransferStore

/// The use cases of sessions and tasks: the only caller of the engine and the store.
///
/// The lock around the registry is held for microseconds, never across a wait, and never while anything touches a
/// disk or a socket. Whatever changes a task queues its write inside the lock, so the journal tells things in the
/// order in which they were decided.
package final class TransferService: Sendable {
  package struct Limits: Sendable {
    /// Tasks of one session that have not ended.
    package var unfinishedTasks = 200_000
    package init() {}
  }

  let store: any TransferStore
  let engine: any LocalCarrier
  /// Carries background tasks out; nil: this process does.
  let background: BackgroundCarrier?
  let hub: EventHub
  package let idempotency: IdempotencyKeys
  let bodies: BodyDirectory
  let files: FileDirectory
  let resumeSealer: ResumeDataSealer
  let answerTagger: AnswerTagger
  let deadlines: DeadlineQueue
  let spawn: Spawn
  /// Threads that fetch from the disk what is not in memory.
  let pool: WorkerPool
  let limits: Limits
  package let identifiers: IdentifierSource
  let notifier: DelegateNotifier
  let logger: Logger
  /// Names of configurations that are being kept.
  let configurationsUnderWay = Mutex<Set<ConfigurationName>>([])
  let registry = Mutex(TransferRegistry())
  let news: QueueReader<String>
  /// What the other process did while there was no service is known. Before that its rings need not be heard.
  let hasCaughtUp = Atomic<Bool>(false)
  /// The stored files that were there when this process began.
  let foundFiles = Mutex<[FileID]>([])
  /// Whether the data directory is where it was. It may wait for a disk.
  private let isAtHome: @Sendable () -> Bool
  /// What the worker told and this version cannot read, and how much the worker leaves likewise.
  let refused = Mutex((news: RefusedDocuments(), byWorker: 0))
  /// Of the background sessions. Locked inside of the registry's lock, never around it.
  let handovers = Mutex<[SessionID: Handover]>([:])
  private let outboxDoorbell = Relay<Void>()

  /// - Parameters:
  ///   - relay: what the engine delivers its facts to; the service connects itself to it.
  ///   - isAtHome: whether the data directory is where it was; called on the pool.
  ///   - uptime: a clock that nobody sets.
  ///   - alarms: keep the time of deadlines in place of the system's timer.
  ///   - random: what nobody can guess of ids.
  ///   - spawn: how it does something beside everything else.
  package init(
    store: any TransferStore, engine: any LocalCarrier, background: BackgroundCarrier? = nil,
    relay: FactRelay,
    hub: EventHub, bodies: BodyDirectory,
    files: FileDirectory, resumeSealer: ResumeDataSealer, answerTagger: AnswerTagger, pool: WorkerPool,
    limits: Limits = Limits(), isAtHome: @escaping @Sendable () -> Bool = { true },
    now: @escaping @Sendable () -> Timestamp,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, alarms: Alarms? = nil,
    random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }, spawn: Spawn = Spawn(),
    logger: Logger
  ) {
    self.store = store
    self.engine = engine
    self.background = background
    self.hub = hub
    self.bodies = bodies
    self.files = files
    self.resumeSealer = resumeSealer
    self.answerTagger = answerTagger
    deadlines = DeadlineQueue(now: now, uptime: uptime, alarms: alarms)
    self.spawn = spawn
    self.pool = pool
    self.limits = limits
    self.isAtHome = isAtHome
    self.logger = logger
    identifiers = IdentifierSource(now: now, random: random)
    notifier = DelegateNotifier(identifiers: identifiers)
    idempotency = IdempotencyKeys(store: store, now: now)
    let relayed = Relay<NewsPage>()
    news = QueueReader(spawn) { (number: Int64) async throws(StoreError) in
      try await store.news(after: number, limit: NewsPage.limit)
    } take: { rows in
      await withCheckedContinuation { continuation in
        relayed.deliver(NewsPage(rows: rows) { continuation.resume() })
      }
    }
    relay.connect { [weak self] in self?.absorb($0) }
    relayed.connect { [weak self] page in
      guard let self else { return page.written() }
      absorb(page)
    }
    engine.cookies.onChange { session, changes in
      guard background?.has(session) != true else { return }
      var change = StoreChange()
      change.cookies = changes.map { (session, $0) }
      store.record(change) {}
    }
    deadlines.onFire { [weak self] in self?.deadlinePassed($0) }
  }

  package var now: Timestamp { identifiers.now() }

  /// Who carries a session's tasks out.
  func carrier(of session: SessionID) -> any TransferCarrier {
    if let background, background.has(session) { return background }
    return engine
  }

  /// Why a task or a webhook cannot use this URL; nil where it can.
  package static func fault(ofURL url: String) -> TransferError? { OriginURL.fault(url) }

  /// The host and path that a request for the URL would go to; nil where there is none.
  package static func place(ofURL url: String) -> (host: String, path: String)? { OriginURL.place(url) }

  /// Why these cannot be a session's authorities; nil where they can.
  package static func fault(ofRoots pem: String) -> String? { SessionTrust.fault(ofRoots: pem) }

  /// Calls `ring` whenever messages were committed to the outbox.
  package func onOutboxNews(_ ring: @escaping @Sendable () -> Void) { outboxDoorbell.connect(ring) }

  /// Writes what has happened, and rings for the outbox once it is on the disk.
  func record(_ change: StoreChange, committed: @escaping @Sendable () -> Void = {}) {
    let (hasMessages, hasCommands) = (!change.newDeliveries.isEmpty, !change.commands.isEmpty)
    guard hasMessages || hasCommands else { return store.record(change, committed: committed) }
    noteQueued(change.newDeliveries)
    store.record(change) { [self] in
      committed()
      if hasMessages { ringForOutbox() }
      if hasCommands { background?.ring() }
    }
  }

  /// Writes what has happened, if anything has.
  func recordAny(_ change: StoreChange) {
    if !change.isEmpty { record(change) }
  }

  /// Writes what has happened so far, so that what comes next is written behind it.
  func recordSoFar(_ change: inout StoreChange) {
    recordAny(change)
    change = StoreChange()
  }

  func ringForOutbox() { outboxDoorbell.ring() }

  /// True while the store takes writes.
  package var isReady: Bool { store.isHealthy }

  /// Why nothing can be done for clients at the moment; nil where it can.
  package func obstacle() async -> String? {
    guard isReady else { return "the store takes no writes" }
    let isAtHome = await withCheckedContinuation { continuation in
      pool.submit { [self] in continuation.resume(returning: self.isAtHome()) }
    }
    return isAtHome ? nil : "the data directory, or a part of it, was taken away"
  }

  /// How many documents of another version stay in the store because nobody can read them. Their tasks wait for a process that
  /// can.
  package var refusedDocuments: Int { refused.withLock { $0.news.count + $0.byWorker } }

  /// Refuses new tasks and sessions from now on, and lets go of those who wait for a task's end for as long as they like.
  package func beginDraining() {
    let waiters = registry.withLock { registry in
      registry.isDraining = true
      return registry.endWaiters.values.filter(\.isPatient)
    }
    for (waiter, _) in waiters { waiter.resume() }
  }

  /// True once the service is about to stop.
  package var isDraining: Bool { registry.withLock { $0.isDraining } }

  /// Appends what `events` of a task cause: themselves, and the webhooks they are told to.
  func note(
    _ events: [TransferEvent], of task: TransferTask?, in session: TransferSession,
    into change: inout StoreChange
  ) {
    change.events += events
    for event in events {
      change.newDeliveries += notifier.deliveries(for: event, task: task, session: session)
    }
  }
}
