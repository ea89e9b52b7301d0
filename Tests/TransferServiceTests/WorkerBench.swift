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

/// A ledger, and workers on it one after another, each with its own engine. The test acts as the service.
final class WorkerBench: Sendable {
  static let start = Timestamp(seconds: 1_800_000_000)

  let store: SQLiteLedger
  let blobs: DirectoryBlobs
  let discretion: DiscretionaryPolicy
  private let directory = TemporaryDirectory.make("ferry-worker")
  var database: String { directory + "/test.db" }
  private let clock = Mutex(WorkerBench.start)
  private let serial = Mutex<UInt64>(0)
  private let waker: WakeupSocket
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
    waker = try WakeupSocket(path: directory + "/bell")
    let (rings, hear) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.rings = rings
    waker.listen(on: loop) { hear.yield() }
    loop.start()
  }

  deinit {
    loop.perform { [waker] in waker.close() }
    loop.stop()
  }

  // MARK: Files

  func path(_ key: BlobKey) -> String { "\(directory)/bodies/\(key)" }

  /// Returns the body that an attempt stored.
  func body(of task: TransferTask, _ outcome: TransferOutcome) throws -> [UInt8] {
    let key = BlobKey(task.id, .body, outcome.blob)
    return try #require(blobs.open(key).wait(at: 0, maximum: Int(outcome.size) + 1))
  }

  // MARK: Time

  var now: Timestamp { clock.withLock { $0 } }
  func advance(_ seconds: Double) { clock.withLock { $0 = $0.adding(seconds: seconds) } }

  // MARK: Processes

  /// The moments at which the next worker's ledger calls the test.
  let moments = Mutex(ObservedLedger.Moments())

  /// How long an idle session keeps its connections, and its cookies and credentials in memory.
  let idleLifetime = Mutex(Duration.seconds(60))

  func engine(_ deliver: @escaping @Sendable ([TransferFact]) -> Void) throws -> TransferEngine {
    var settings = TransferEngine.Settings(
      egress: EgressPolicy(allowedNetworks: [try #require(IPNetwork("127.0.0.0/8"))]), blobs: blobs,
      pool: ThreadPool(name: "test-write", threads: 2))
    settings.smallBodyLimit = 1024
    settings.idleSessions.lifetime = idleLifetime.withLock { $0 }
    settings.now = { [self] in now }
    return try TransferEngine(workers: 1, settings: settings, deliver: deliver)
  }

  /// Makes a worker that has an engine but is not started.
  func worker() throws -> Process {
    let relay = FactCallback()
    let engine = try engine { relay.deliver($0) }
    let loop = EventLoop(name: "test-worker")
    loop.start()
    let worker = BackgroundWorker(
      store: ObservedLedger(store, moments.withLock { $0 }), engine: engine, relay: relay, blobs: blobs,
      waker: WakeupClient(path: directory + "/bell"), timers: TimerSource(on: loop), discretion: discretion,
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

  // MARK: The service's rows

  /// Adds a background session to the ledger.
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

  /// Adds a resumed task to the ledger.
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

  func write(_ body: (inout LedgerChange) -> Void) async throws {
    var change = LedgerChange()
    body(&change)
    try await store.write(change)
  }

  func put(_ commands: [BackgroundCommand], of session: TransferSession) async throws {
    try await write { $0.commands = commands.map { $0.stored(for: session.id) } }
  }

  /// Writes commands, lets the worker read them, and waits for the commit.
  func send(_ commands: [BackgroundCommand], of session: TransferSession, to process: Process) async throws {
    try await put(commands, of: session)
    try await process.worker.readCommands()
    await written()
  }

  /// Starts a worker and submits a download in a new session.
  func submitted(
    _ url: String, delegate: SessionDelegate? = nil
  ) async throws -> (process: Process, session: TransferSession, task: TransferTask) {
    let process = try await started()
    let session = try await session(delegate: delegate)
    let task = try await task(url, in: session)
    try await send([.submit(task.id)], of: session, to: process)
    return (process, session, task)
  }

  /// Waits until all queued changes are committed.
  func written() async {
    await withCheckedContinuation { continuation in store.record(LedgerChange()) { continuation.resume() } }
  }

  // MARK: The worker's rows

  func news() async throws -> [WorkerReport] {
    try await store.workerReports(after: 0, limit: 1000).map {
      try QueueDocumentCoding.decode(WorkerReport.self, $0.content)
    }
  }

  /// Waits until the reports satisfy the condition, and returns all of them.
  func news(until isThere: ([WorkerReport]) -> Bool) async throws -> [WorkerReport] {
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
        ($0.task, try QueueDocumentCoding.decode(WorkState.self, $0.document))
      })
  }

  /// Writes a task's work as an earlier worker left it.
  func leave(_ task: TransferTask, _ body: (inout WorkState) -> Void) async throws {
    var state = WorkState()
    (state.attempts, state.startedAt) = (1, now)
    body(&state)
    let document = QueueDocumentCoding.encode(state)
    try await write {
      $0.work = [StoredWork(task: task.id, session: task.sessionID, document: document)]
    }
  }
}

extension [WorkerReport] {
  func outcome(of task: TaskID) -> TransferOutcome? {
    for case .fact(.ended(task, let outcome)) in self { return outcome }
    return nil
  }

  /// Returns the names of a task's reports, without progress.
  func names(of task: TaskID) -> [String] {
    filter { news in
      if case .fact(.progress) = news { return false }
      return "\(news)".contains("\(task)")
    }.map { WorkerSamples.name($0) }
  }
}
