import Addresses
import BlobStore
import Crypto
import EventLoop
import Foundation
import Ledger
import Logging
import MemoryLedger
import Records
import TestSupport
import Testing
import TransferEngine
import TransferModel

@testable import SQLiteLedger
@testable import TransferService

/// A start with unreadable rows: their tasks and files stay untouched, and everything else continues.
@Suite struct QuarantineTests {
  private static let time = Timestamp(seconds: 1_800_000_000)
  private let directory = TemporaryDirectory.make("ferry-aside")

  private static func box(_ keys: UInt8...) -> SecretBox {
    SecretBox(secrets: keys.map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
  }

  private static func id<Kind>(_ number: UInt64) -> ID<Kind> { ID(at: time, random: (number, number)) }

  private static func session(_ number: UInt64) -> TransferSession {
    TransferSession(
      id: id(number), createdAt: time, description: "s\(number)", configuration: SessionConfiguration(),
      delegate: nil)
  }

  private static func task(_ number: UInt64, in session: UInt64, ended: Bool = false) -> TransferTask {
    var task = TransferTask(
      id: id(number), sessionID: id(session), taskIdentifier: Int(number), createdAt: time,
      specification: TaskSpecification(kind: .download, request: TransferRequest(url: "http://127.0.0.1:1/")))
    _ = task.lifecycle.resume()
    if ended {
      _ = task.lifecycle.complete()
      task.completedAt = time
    }
    return task
  }

  private func open(_ box: SecretBox) throws -> SQLiteLedger {
    try SQLiteLedger(path: directory + "/test.db", box: box) { _ in }
  }

  private func write(_ box: SecretBox, _ fill: (inout LedgerChange) -> Void) async throws {
    let store = try open(box)
    var change = LedgerChange()
    fill(&change)
    try await store.write(change)
    await store.close()
  }

  private func service(_ store: SQLiteLedger) throws -> (TransferService, TransferEngine) {
    let relay = FactCallback()
    let blobs = DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files")
    try blobs.prepare()
    let pool = ThreadPool(name: "test-write", threads: 1)
    var settings = TransferEngine.Settings(egress: EgressPolicy(), blobs: blobs, pool: pool)
    settings.now = { Self.time }
    let engine = try TransferEngine(workers: 1, settings: settings) { relay.deliver($0) }
    let keys = [SymmetricKey(size: .bits256)]
    let service = TransferService(
      store: CompositeLedger(store), engine: engine, relay: relay, hub: EventHub(), blobs: blobs,
      box: SecretBox(secrets: keys), answerTagger: AnswerDigester(secrets: keys), pool: pool,
      now: { Self.time.adding(seconds: 1e8) },
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    return (service, engine)
  }

  private func expectUnreadable(_ name: String, _ read: () async throws -> Void) async {
    do {
      try await read()
      Issue.record("\(name) was read, although its row is damaged")
    } catch ServiceError.storedDataUnreadable(let row) {
      #expect("\(row)".contains(name))
    } catch {
      Issue.record("\(error)")
    }
  }

  private func expectNothing(_ read: () async throws -> Void) async {
    do {
      try await read()
      Issue.record("a quarantined record was found")
    } catch ServiceError.taskNotFound, ServiceError.sessionNotFound {
    } catch {
      Issue.record("\(error)")
    }
  }

  @Test func `unreadable rows keep their files and are reported to their tenant`() async throws {
    // Sessions 1 and 2, and tasks 11 (readable), 12 (unreadable), 13 (unreadable, ended), 21 (in session 2). The second key has
    // sealed the unreadable rows.
    try await write(Self.box(1)) { change in
      change.sessions = [.shared(.shared, of: .default), Self.session(1)]
      change.createdTasks = [Self.task(11, in: 1), Self.task(21, in: 2)]
      change.updatedTasks = change.createdTasks
    }
    try await write(Self.box(2, 1)) { change in
      change.sessions = [Self.session(2)]
      change.createdTasks = [Self.task(12, in: 1), Self.task(13, in: 1, ended: true)]
      change.updatedTasks = change.createdTasks
    }
    try DirectoryBlobs(bodies: directory + "/bodies", files: directory + "/files").prepare()
    let keys =
      [12, 21].map { BlobKey(Self.id($0) as TaskID, .draft, nil) } + [BlobKey(Self.id(12), .partial, nil)]
    let kept = keys.map { directory + "/bodies/\($0)" }
    for path in kept { #expect(FileManager.default.createFile(atPath: path, contents: Data([1]))) }
    let store = try open(Self.box(1))
    let (service, engine) = try service(store)
    #expect(try await service.recover() == 1, "only the undamaged task is recovered")
    try await service.catchUp()
    try await service.collectOrphans()
    try await service.runtime.recorder.flush()
    #expect(try await service.tasks.task(Self.id(11)).state == .completed)
    #expect(try service.sessions.session(Self.id(1)).description == "s1")
    for number in [12, 13] as [UInt64] {
      let id: TaskID = Self.id(number)
      await expectUnreadable("task \(id)") { _ = try await service.tasks.task(id) }
      await expectUnreadable("task \(id)") { _ = try await service.tasks.cancel(id) }
    }
    let name = "session \(Self.id(2) as SessionID)"
    await expectUnreadable(name) { _ = try service.sessions.session(Self.id(2)) }
    await expectUnreadable(name) { _ = try await service.tasks.task(Self.id(21)) }
    await expectUnreadable(name) { _ = try await service.sessions.invalidate(Self.id(2), .cancelTasks) }
    await expectUnreadable(name) {
      let specification = TaskSpecification(kind: .data, request: TransferRequest(url: "http://127.0.0.1:1/"))
      _ = try await service.tasks.create([specification], in: service.sessions.session(Self.id(2)))
    }
    // Unreadable rows are reported to their tenant only.
    let (owner, stranger) = (service.view(of: .default), service.view(of: Tenant(name: "t")))
    for number in [11, 12, 13, 21] as [UInt64] {
      let id: TaskID = Self.id(number)
      if number != 11 {
        await expectUnreadable(number == 21 ? name : "task \(id)") { _ = try await owner.task(id) }
      }
      await expectNothing { _ = try await stranger.task(id) }
      await expectNothing { _ = try await stranger.cancel(id) }
    }
    await expectUnreadable(name) { _ = try owner.session(Self.id(2)) }
    await expectNothing { _ = try stranger.session(Self.id(1)) }
    await expectNothing { _ = try stranger.session(Self.id(2)) }
    let listed = try await service.lists.page(TaskQuery(session: Self.id(1), limit: 9)).tasks
    #expect(listed.map(\.id) == [Self.id(11)])
    _ = try await service.prune(by: Retention())
    for path in kept { #expect(FileManager.default.fileExists(atPath: path), "\(path)") }
    await engine.stop()
    await store.close()
    // With the second key, all rows are found unchanged.
    let whole = try open(Self.box(2, 1))
    for task in [Self.task(12, in: 1), Self.task(13, in: 1, ended: true), Self.task(21, in: 2)] {
      #expect(try await whole.task(task.id) == task)
    }
    #expect(try await whole.sessions().map(\.session).contains(Self.session(2)))
    await whole.close()
  }

  /// The shared session is created on demand, but must not overwrite an unreadable row.
  @Test func `unreadable shared session is not overwritten`() async throws {
    var shared = TransferSession.shared(.shared, of: .default)
    shared.owesFinishedEvents = true
    try await write(Self.box(1)) { _ in }
    try await write(Self.box(2, 1)) { [shared] in $0.sessions = [shared] }
    let store = try open(Self.box(1))
    let (service, engine) = try service(store)
    _ = try await service.recover()
    try await service.catchUp()
    await expectUnreadable("ses_shared") { _ = try service.sessions.session(.shared) }
    await engine.stop()
    await store.close()
    let whole = try open(Self.box(2, 1))
    #expect(try await whole.sessions().map(\.session) == [shared])
    await whole.close()
  }
}
