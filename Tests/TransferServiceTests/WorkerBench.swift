import Addresses
import BlobStore
import Crypto
import EventLoop
import Ledger
import Logging
import Processes
import Records
import Synchronization
import SimulatedStores
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import SQLiteLedger
@testable import TransferService

/// A store, and workers on it one after the other, each with an engine of its own: what the two processes share, and what goes with
/// one of them. The test stands where the service does.
final class WorkerBench: Sendable {
  static let start = Timestamp(seconds: 1_800_000_000)

  let store: SQLiteLedger
  let blobs: DirectoryBlobs
  let discretion: DiscretionaryPolicy
  private let directory = TemporaryDirectory.make("ferry-worker")
  var database: String { directory + "/test.db" }
  private let clock = Mutex(WorkerBench.start)
  private let serial = Mutex<UInt64>(0)
  private let bell: Doorbell
  private let loop = EventLoop(name: "test-bell")
  private let rings: AsyncStream<Void>

  init(discretion: DiscretionaryPolicy = DiscretionaryPolicy()) throws {
    self.discretion = discretion
    store = try SQLiteLedger(
      path: directory + "/test.db",
      box: SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])
    ) { _ in }
    blobs = DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files")
    try blobs.prepare()
    bell = try Doorbell(path: directory + "/bell")
    let (rings, hear) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.rings = rings
    bell.listen(on: loop) { hear.yield() }
    loop.start()
  }

  deinit {
    loop.perform { [bell] in bell.close() }
    loop.stop()
  }

  // MARK: Files

  func path(_ key: BlobKey) -> String { "\(directory)/bodies/\(key)" }

  /// The body that an attempt has left.
  func body(of task: TransferTask, _ outcome: TransferOutcome) throws -> [UInt8] {
    let key = BlobKey(task.id, .body, outcome.blob)
    return try #require(blobs.open(key).wait(at: 0, maximum: Int(outcome.size) + 1))
  }

  // MARK: Time

  var now: Timestamp { clock.withLock { $0 } }
  func advance(_ seconds: Double) { clock.withLock { $0 = $0.adding(seconds: seconds) } }

  // MARK: Processes

  /// Where the next worker's store stops.
  let moments = Mutex(WatchedStore.Moments())

  /// How long an idle session keeps its connections, and its cookies and credentials in memory.
  let idleLifetime = Mutex(Duration.seconds(60))

  func engine(_ deliver: @escaping @Sendable ([TransferFact]) -> Void) throws -> TransferEngine {
    var settings = TransferEngine.Settings(
      egress: EgressPolicy(allowedNetworks: [try #require(IPNetwork("127.0.0.0/8"))]), blobs: blobs,
      pool: WorkerPool(name: "test-write", threads: 2))
    settings.smallBodyLimit = 1024
    settings.idleSessions.lifetime = idleLifetime.withLock { $0 }
    settings.now = { [self] in now }
    return try TransferEngine(workers: 1, settings: settings, deliver: deliver)
  }

  /// A worker that has an engine, and has not begun.
  func worker() throws -> Process {
    let relay = FactRelay()
    let engine = try engine { relay.deliver($0) }
    let loop = EventLoop(name: "test-worker")
    loop.start()
    let worker = BackgroundWorker(
      store: WatchedStore(store, moments.withLock { $0 }), engine: engine, relay: relay, blobs: blobs,
      bell: DoorbellPull(path: directory + "/bell"), alarms: Alarms(on: loop), discretion: discretion,
      now: { [self] in now },
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    return Process(worker: worker, engine: engine, loop: loop)
  }

  func started(afterCrash: Bool = false) async throws -> Process {
    let process = try worker()
    try await process.worker.start(afterCrash: afterCrash)
    return process
  }

  struct Process {
    let worker: BackgroundWorker
    let engine: TransferEngine
    let loop: EventLoop

    func stop() async {
      await engine.stop()
      await loop.stopAndJoin()
    }
  }

  // MARK: What the service writes

  /// A background session, in the store.
  func session(
    delegate: SessionDelegate? = nil, _ adjust: (inout SessionConfiguration) -> Void = { _ in }
  ) async throws -> TransferSession {
    var configuration = SessionConfiguration()
    var retry = RetryConfiguration()
    retry.backoff = 0.001
    configuration.retry = retry
    adjust(&configuration)
    let session = TransferSession(
      id: id(), type: .background, createdAt: now, description: nil, configuration: configuration,
      delegate: delegate, identifier: "a")
    try await write { $0.sessions = [session] }
    return session
  }

  /// A task that runs, in the store.
  func task(
    _ url: String, in session: TransferSession, kind: TaskKind = .download, method: String = "GET",
    beginning date: Timestamp? = nil, resuming point: ResumePoint? = nil
  ) async throws -> TransferTask {
    var specification = TaskSpecification(kind: kind, request: TransferRequest(url: url, method: method))
    specification.earliestBeginDate = date
    specification.resumePoint = point
    var task = TransferTask(
      id: id(), sessionID: session.id, taskIdentifier: 1, createdAt: now, specification: specification)
    _ = task.lifecycle.resume()
    let created = task
    try await write { $0.createdTasks = [created] }
    return task
  }

  private func id<Kind>() -> ID<Kind> {
    serial.withLock { serial in
      serial += 1
      return ID(at: Self.start, random: (serial, serial))
    }
  }

  func write(_ body: (inout StoreChange) -> Void) async throws {
    var change = StoreChange()
    body(&change)
    try await store.write(change)
  }

  func put(_ commands: [BackgroundCommand], of session: TransferSession) async throws {
    try await write { $0.commands = commands.map { $0.stored(for: session.id) } }
  }

  /// Puts commands there and has them carried out, and waits until that is written.
  func send(_ commands: [BackgroundCommand], of session: TransferSession, to process: Process) async throws {
    try await put(commands, of: session)
    try await process.worker.readCommands()
    await written()
  }

  /// A worker with a download of a session of its own.
  func submitted(
    _ url: String, delegate: SessionDelegate? = nil
  ) async throws -> (process: Process, session: TransferSession, task: TransferTask) {
    let process = try await started()
    let session = try await session(delegate: delegate)
    let task = try await task(url, in: session)
    try await send([.submit(task.id)], of: session, to: process)
    return (process, session, task)
  }

  /// What was queued for the store is there.
  func written() async {
    await withCheckedContinuation { continuation in store.record(StoreChange()) { continuation.resume() } }
  }

  // MARK: What the worker writes

  func news() async throws -> [WorkerNews] {
    try await store.news(after: 0, limit: 1000).map {
      try WorkerDocument.decode(WorkerNews.self, $0.content)
    }
  }

  /// All news, once there is what is asked for.
  func news(until isThere: ([WorkerNews]) -> Bool) async throws -> [WorkerNews] {
    var iterator = rings.makeAsyncIterator()
    while true {
      let news = try await news()
      if isThere(news) { return news }
      _ = await iterator.next()
    }
  }

  func outcomes(_ tasks: TransferTask...) async throws -> [TransferOutcome] {
    let news = try await news { news in tasks.allSatisfy { news.outcome(of: $0.id) != nil } }
    return try tasks.map { try #require(news.outcome(of: $0.id)) }
  }

  func work() async throws -> [TaskID: WorkState] {
    await written()
    return Dictionary(
      uniqueKeysWithValues: try await store.work().map {
        ($0.task, try WorkerDocument.decode(WorkState.self, $0.document))
      })
  }

  /// What an earlier process has left of a task.
  func leave(_ task: TransferTask, _ body: (inout WorkState) -> Void) async throws {
    var state = WorkState()
    (state.attempts, state.startedAt) = (1, now)
    body(&state)
    let document = WorkerDocument.encode(state)
    try await write {
      $0.work = [StoredWork(task: task.id, session: task.sessionID, document: document)]
    }
  }
}

extension [WorkerNews] {
  func outcome(of task: TaskID) -> TransferOutcome? {
    for case .fact(.ended(task, let outcome)) in self { return outcome }
    return nil
  }

  /// The names of what was told of a task, but for progress.
  func names(of task: TaskID) -> [String] {
    filter { news in
      if case .fact(.progress) = news { return false }
      return "\(news)".contains("\(task)")
    }.map { WorkerSamples.name($0) }
  }
}
