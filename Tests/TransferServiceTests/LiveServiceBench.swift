import Addresses
import BlobStore
import Crypto
import EventLoop
import Ledger
import Logging
import MemoryLedger
import Processes
import Records
import SimulatedStores
import TestSupport
import Testing
import TransferEngine
import TransferModel

@testable import SQLiteLedger
@testable import TransferService

/// A service with a real ledger and a real engine, without HTTP. No worker runs its background tasks: the test acts as the
/// worker.
final class LiveServiceBench: Sendable {
  let store: any Ledger
  let service: TransferService
  let engine: TransferEngine
  private let directory: String
  private let now: @Sendable () -> Timestamp
  private let isSlow: Bool
  /// The service's blob store, if `hasSlowBlobs` is set.
  let slowBlobs: SlowBlobs

  /// - Parameters:
  ///   - idleLifetime: how long an idle session keeps its connections, and its cookies and credentials in memory.
  ///   - hasSlowBlobs: whether the blob store completes calls later, from other threads.
  ///   - now: the service's clock.
  convenience init(
    _ moments: ObservedLedger.Moments = .init(), idleLifetime: Duration = .seconds(60),
    hasSlowBlobs: Bool = false,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }
  ) async throws {
    try await self.init(
      in: TemporaryDirectory.make("ferry-service"), moments, idleLifetime, hasSlowBlobs, now)
  }

  private init(
    in directory: String, _ moments: ObservedLedger.Moments, _ idleLifetime: Duration, _ hasSlowBlobs: Bool,
    _ now: @escaping @Sendable () -> Timestamp
  ) async throws {
    (self.directory, self.now, isSlow) = (directory, now, hasSlowBlobs)
    let secrets = [SymmetricKey(data: [UInt8](repeating: 7, count: 32))]
    let hub = EventHub()
    store = CompositeLedger(
      try SQLiteLedger(path: directory + "/test.db", box: SecretBox(secrets: secrets)) { hub.publish($0) })
    let files = DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files")
    try files.prepare()
    let network = ThreadPool(name: "test-network", threads: 3)
    slowBlobs = SlowBlobs(files) { waiting in network.submit { waiting.answer() } }
    let blobs: any BlobStore = hasSlowBlobs ? slowBlobs : files
    let relay = FactCallback()
    var settings = TransferEngine.Settings(
      egress: EgressPolicy(allowedNetworks: [try #require(IPNetwork("127.0.0.0/8"))]), blobs: blobs,
      pool: ThreadPool(name: "test-write", threads: 2))
    settings.idleSessions.lifetime = idleLifetime
    engine = try TransferEngine(workers: 1, settings: settings) { relay.deliver($0) }
    service = TransferService(
      store: ObservedLedger(store, moments), engine: engine,
      background: WorkerSessionRegistry(waker: WakeupClient(path: directory + "/no-bell")), relay: relay,
      hub: hub, blobs: blobs, box: SecretBox(secrets: secrets),
      answerTagger: AnswerDigester(secrets: secrets), pool: ThreadPool(name: "test-read", threads: 1),
      now: now,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    _ = try await service.recover()
  }

  func session(_ type: SessionType = .default, delegate: SessionDelegate? = nil) async throws -> SessionID {
    var specification = SessionSpecification()
    (specification.type, specification.delegate) = (type, delegate)
    if type == .background { specification.identifier = "a" }
    return try await service.sessions.create(specification, of: .default).session.id
  }

  /// Creates a resumed task.
  func task(
    _ url: String, in session: SessionID, kind: TaskKind = .data, beginning date: Timestamp? = nil
  ) async throws -> TransferTask {
    try await service.tasks.create(
      [Self.specification(url, kind: kind, beginning: date)], in: service.sessions.session(session))[0]
  }

  static func specification(
    _ url: String, kind: TaskKind = .data, beginning date: Timestamp? = nil
  ) -> TaskSpecification {
    var specification = TaskSpecification(kind: kind, request: TransferRequest(url: url))
    (specification.resume, specification.earliestBeginDate) = (true, date)
    return specification
  }

  /// Returns the task after its end.
  func end(of task: TaskID) async throws -> TransferTask {
    await service.tasks.waitForEnd(of: task, seconds: Patience.seconds)
    return try await service.tasks.task(task)
  }

  /// Waits for a session's next pending decision.
  func decision(of session: SessionID) async throws -> Decision {
    while true {
      let pending = try await service.decisions.page(
        of: session, state: .pending, after: nil, order: .oldest, limit: 1)
      if let first = pending.first { return first }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  /// Writes the worker's reports.
  func tell(_ documents: [String]) async throws {
    var change = LedgerChange()
    change.workerReports = documents
    try await store.write(change)
    try await service.workerReports.startReading(.all, readsAll: true)
    try await service.runtime.recorder.flush()
  }

  /// Stops the service and starts another on the same directory.
  func restarted() async throws -> LiveServiceBench {
    await stop()
    return try await LiveServiceBench(in: directory, .init(), .seconds(60), isSlow, now)
  }

  func stop() async {
    await engine.stop()
    await store.close()
  }
}
