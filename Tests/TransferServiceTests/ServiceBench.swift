import Addresses
import BlobStore
import Crypto
import EventLoop
import Ledger
import Logging
import MemoryLedger
import Processes
import Records
import Synchronization
import TestSupport
import TransferEngine
import TransferModel

@testable import SQLiteLedger
@testable import TransferService

/// A service with a ledger of its own, not yet recovered. The test acts as the worker and as an earlier service.
final class ServiceBench: Sendable {
  static let start = Timestamp(seconds: 1_800_000_000)

  let store: any Ledger
  let service: TransferService
  let blobs: DirectoryBlobs
  let directory: String
  private let engine: TransferEngine
  private let clock = Clock()
  private let background = BackgroundWork()

  /// The tasks that the service has started.
  private final class BackgroundWork: Sendable {
    private let tasks = Mutex<[Task<Void, Never>]>([])
    func start(_ work: @escaping @Sendable () async -> Void) {
      tasks.withLock { $0.append(Task { await work() }) }
    }
    func finish() async {
      while true {
        let running = tasks.withLock { tasks in
          defer { tasks = [] }
          return tasks
        }
        if running.isEmpty { return }
        for task in running { await task.value }
      }
    }
  }

  private final class Clock: Sendable {
    private let time = Mutex(ServiceBench.start)
    var now: Timestamp { time.withLock { $0 } }
    func advance(_ seconds: Double) { time.withLock { $0 = $0.adding(seconds: seconds) } }
  }

  init() throws {
    directory = TemporaryDirectory.make("ferry-service")
    let (hub, relay) = (EventHub(), FactCallback())
    let keys = [SymmetricKey(data: [UInt8](repeating: 7, count: 32))]
    store = CompositeLedger(
      try SQLiteLedger(path: directory + "/test.db", box: SecretBox(secrets: keys)) { hub.publish($0) })
    blobs = DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files")
    try blobs.prepare()
    let pool = ThreadPool(name: "test-pool", threads: 2)
    engine = try TransferEngine(
      workers: 1,
      settings: .init(egress: EgressPolicy(allowedNetworks: []), blobs: blobs, pool: pool)
    ) { relay.deliver($0) }
    let now: @Sendable () -> Timestamp = { [clock] in clock.now }
    service = TransferService(
      store: store, engine: engine,
      background: WorkerSessionRegistry(waker: WakeupClient(path: directory + "/bell")), relay: relay,
      hub: hub, blobs: blobs, box: SecretBox(secrets: keys),
      answerTagger: AnswerDigester(secrets: keys), pool: pool, now: now,
      spawn: TaskSpawner { [background] in background.start($0) },
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
  }

  func advance(_ seconds: Double) { clock.advance(seconds) }

  /// Waits until all tasks that the service has started are over.
  func finishBackgroundWork() async { await background.finish() }

  /// Opens the ledger as another process.
  func another() throws -> SQLiteLedger {
    let keys = [SymmetricKey(data: [UInt8](repeating: 7, count: 32))]
    return try SQLiteLedger(path: directory + "/test.db", box: SecretBox(secrets: keys)) { _ in }
  }

  func stop() async {
    await engine.stop()
    await store.close()
  }

  func write(_ body: (inout LedgerChange) -> Void) async throws {
    var change = LedgerChange()
    body(&change)
    try await store.write(change)
  }

  /// Waits until all queued changes are committed.
  func written() async {
    await withCheckedContinuation { continuation in store.record(LedgerChange()) { continuation.resume() } }
  }

  static func id<Kind>(_ number: UInt64) -> ID<Kind> { ID(at: start, random: (number, number)) }

  static let session = TransferSession(
    id: id(1), type: .background, createdAt: start, description: nil, configuration: SessionConfiguration(),
    delegate: nil, identifier: "a")

  /// Adds a task of the background session, with the rows that an earlier service would have written.
  func task(_ number: UInt64, _ adjust: (inout TransferTask) -> Void = { _ in }) async throws -> TransferTask
  {
    let specification = TaskSpecification(kind: .data, request: TransferRequest(url: "http://192.0.2.1/"))
    var task = TransferTask(
      id: Self.id(number), sessionID: Self.session.id, taskIdentifier: Int(number), createdAt: Self.start,
      specification: specification)
    _ = task.lifecycle.resume()
    adjust(&task)
    let created = task
    try await write {
      $0.sessions = [Self.session]
      $0.createdTasks = [created]
    }
    return task
  }

  /// Returns the tasks with a submit command.
  func submitted() async throws -> [TaskID] {
    await written()
    return try await store.commands(after: 0, limit: 1000).compactMap { row in
      let command = try QueueDocumentCoding.decode(BackgroundCommand.self, row.content.document)
      return if case .submit(let id) = command { id } else { nil }
    }
  }
}
