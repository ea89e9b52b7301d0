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

/// The service between a real store and a real engine, without a door. Nobody carries its background tasks out: the test stands
/// where the worker does.
final class LiveServiceBench: Sendable {
  let store: any Ledger
  let service: TransferService
  let engine: TransferEngine
  private let directory: String
  private let now: @Sendable () -> Timestamp
  private let isSlow: Bool
  /// Its blob store, if it completes calls later.
  let slowBlobs: SlowBlobs

  /// - Parameters:
  ///   - idleLifetime: how long an idle session keeps its connections, and its cookies and credentials in memory.
  ///   - hasSlowBlobs: its blob store completes calls later, from other threads.
  ///   - now: the service's clock.
  convenience init(
    _ moments: WatchedStore.Moments = .init(), idleLifetime: Duration = .seconds(60),
    hasSlowBlobs: Bool = false,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }
  ) async throws {
    try await self.init(
      in: TemporaryDirectory.make("ferry-service"), moments, idleLifetime, hasSlowBlobs, now)
  }

  private init(
    in directory: String, _ moments: WatchedStore.Moments, _ idleLifetime: Duration, _ hasSlowBlobs: Bool,
    _ now: @escaping @Sendable () -> Timestamp
  ) async throws {
    (self.directory, self.now, isSlow) = (directory, now, hasSlowBlobs)
    let secrets = [SymmetricKey(data: [UInt8](repeating: 7, count: 32))]
    let hub = EventHub()
    store = CompositeLedger(
      try SQLiteLedger(path: directory + "/test.db", box: SecretBox(secrets: secrets)) { hub.publish($0) })
    let files = DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files")
    try files.prepare()
    let network = WorkerPool(name: "test-network", threads: 3)
    slowBlobs = SlowBlobs(files) { waiting in network.submit { waiting.answer() } }
    let blobs: any BlobStore = hasSlowBlobs ? slowBlobs : files
    let relay = FactRelay()
    var settings = TransferEngine.Settings(
      egress: EgressPolicy(allowedNetworks: [try #require(IPNetwork("127.0.0.0/8"))]), blobs: blobs,
      pool: WorkerPool(name: "test-write", threads: 2))
    settings.idleSessions.lifetime = idleLifetime
    engine = try TransferEngine(workers: 1, settings: settings) { relay.deliver($0) }
    service = TransferService(
      store: WatchedStore(store, moments), engine: engine,
      background: BackgroundCarrier(doorbell: DoorbellPull(path: directory + "/no-bell")), relay: relay,
      hub: hub, blobs: blobs, box: SecretBox(secrets: secrets),
      answerTagger: AnswerTagger(secrets: secrets), pool: WorkerPool(name: "test-read", threads: 1), now: now,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    _ = try await service.recover()
  }

  func session(_ type: SessionType = .default, delegate: SessionDelegate? = nil) async throws -> SessionID {
    var specification = SessionSpecification()
    (specification.type, specification.delegate) = (type, delegate)
    if type == .background { specification.identifier = "a" }
    return try await service.sessions.create(specification, of: .default).session.id
  }

  /// A task that is to run.
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

  /// The task when it has ended.
  func end(of task: TaskID) async throws -> TransferTask {
    await service.tasks.waitForEnd(of: task, seconds: 30)
    return try await service.tasks.task(task)
  }

  /// The next decision of a session that waits.
  func decision(of session: SessionID) async throws -> Decision {
    while true {
      let pending = try await service.decisions.page(of: session, state: .pending, after: nil, limit: 1)
      if let first = pending.first { return first }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  /// What a worker tells.
  func tell(_ documents: [String]) async throws {
    var change = StoreChange()
    change.news = documents
    try await store.write(change)
    try await service.news.hear(.all, readsAll: true)
    try await service.room.recorder.settle()
  }

  /// Stops, and starts again on the same directory.
  func restarted() async throws -> LiveServiceBench {
    await stop()
    return try await LiveServiceBench(in: directory, .init(), .seconds(60), isSlow, now)
  }

  func stop() async {
    await engine.stop()
    await store.close()
  }
}
