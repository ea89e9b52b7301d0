import Ledger
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// Verbs that come while a task is being created: its row is on the disk, and nobody has begun it.
@Suite(.blocking, .endsInTime) struct CreationRaceTests {
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK"))
    return true
  }
  private let written = Gate()
  private let goesOn = Gate()

  /// Stops the creation of tasks behind its commit.
  private func bench() async throws -> LiveServiceBench {
    let (written, goesOn) = (written, goesOn)
    var moments = WatchedStore.Moments()
    moments.committed = { change in
      guard !change.createdTasks.isEmpty else { return }
      written.open()
      _ = goesOn.wait() || goesOn.wait()
    }
    return try await LiveServiceBench(moments)
  }

  private func created(in session: SessionID, _ bench: LiveServiceBench) async throws -> TaskID {
    #expect(written.wait() || written.wait())
    let tasks = try await bench.store.tasks(TaskQuery(session: session, limit: 9))
    return try #require(tasks.first).id
  }

  /// Until somebody waits for the creation's end.
  private func waiting(for task: TaskID, _ bench: LiveServiceBench) async throws {
    let session = try #require(bench.service.room.directory[task])
    while !bench.service.room.shard(of: session).hasParked(task) {
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  @Test func aCancelIsNotLost() async throws {
    let bench = try await bench()
    let session = try await bench.session()
    async let task = bench.task(origin.url, in: session)
    let id = try await created(in: session, bench)
    async let cancelled = bench.service.tasks.cancel(id)
    try await waiting(for: id, bench)
    goesOn.open()
    _ = try await (task, cancelled)
    #expect(try await bench.end(of: id).error?.reason == .url(.cancelled))
    #expect(origin.requests.isEmpty)
    await bench.stop()
  }

  @Test func aSuspensionIsNotLost() async throws {
    let bench = try await bench()
    let session = try await bench.session()
    async let task = bench.task(origin.url, in: session)
    let id = try await created(in: session, bench)
    async let suspended = bench.service.tasks.suspend(id)
    try await waiting(for: id, bench)
    goesOn.open()
    _ = try await task
    #expect(try await suspended.state == .suspended)
    #expect(try await bench.service.tasks.task(id).state == .suspended)
    #expect(try await bench.service.tasks.resume(id).state == .running)
    #expect(try await bench.end(of: id).error == nil)
    #expect(origin.requests.count == 1)
    await bench.stop()
  }

  @Test func whoInvalidatesAndCancelsMissesNone() async throws {
    let bench = try await bench()
    let session = try await bench.session()
    async let task = bench.task(origin.url, in: session)
    let id = try await created(in: session, bench)
    #expect(try await bench.service.sessions.invalidate(session, .cancelTasks).state == .invalidating)
    goesOn.open()
    _ = try await task
    #expect(try await bench.end(of: id).error?.reason == .url(.cancelled))
    #expect(origin.requests.isEmpty)
    #expect(try bench.service.sessions.session(session).state == .invalid)
    await bench.stop()
  }

  /// finishTasksAndInvalidate lets it come to its end.
  @Test func whoInvalidatesAndWaitsCancelsNone() async throws {
    let bench = try await bench()
    let session = try await bench.session()
    async let task = bench.task(origin.url, in: session)
    let id = try await created(in: session, bench)
    #expect(try await bench.service.sessions.invalidate(session, .finishTasks).state == .invalidating)
    goesOn.open()
    _ = try await task
    #expect(try await bench.end(of: id).error == nil)
    await bench.stop()
  }

  /// A creation that fails leaves nothing, and whoever waited for it hears so.
  @Test func aTaskThatIsNotCreatedIsNone() throws {
    let task = NewTask(id: TaskID(high: 1, low: 1), LiveServiceBench.specification("http://a.test/"))
    let found = Mutex<[Bool]>([])
    for isWritten in [true, false] {
      let directory = TaskDirectory()
      let shard = SessionShard(seed: 1, directory: directory) { _ in
        Now(wall: WorkerSamples.time, uptime: .now)
      } isElsewhere: { _ in
        false
      }
      shard.insert(SessionMachine(.shared(.shared, of: .default), limit: 9))
      _ = shard.visit(.shared) { machine, step in _ = machine.take(.create([task]), &step) }
      #expect(directory[task.id] == .shared)
      _ = shard.visit(task.id, in: .shared) { machine, _ in
        let isThere = machine.task(task.id) != nil
        found.withLock { $0.append(isThere) }
      }
      #expect(shard.hasParked(task.id) && found.withLock { $0.count } == (isWritten ? 0 : 1))
      _ = shard.endCreation(of: [task.id], in: .shared, refused: isWritten ? nil : [])
      #expect(!shard.hasParked(task.id) && (directory[task.id] == nil) == !isWritten)
    }
    #expect(found.withLock { $0 } == [true, false])
  }

  /// Whoever carries a session's steps out takes a creation in its turn, like all others: it overtakes nothing that another thread is
  /// about to write.
  @Test func aCreationIsCarriedOutInItsTurn() {
    let shard = SessionShard(seed: 1, directory: TaskDirectory()) { _ in
      Now(wall: WorkerSamples.time, uptime: .now)
    } isElsewhere: { _ in
      false
    }
    shard.insert(SessionMachine(.shared(.shared, of: .default), limit: 9))
    func decide(_ creation: Creation?) -> Bool? {
      shard.visit(.shared) { _, step in
        step.creation = creation
        step.settled.append { _ in }
      }?.mustCarryOut
    }
    var order: [String] = []
    #expect(decide(nil) == true)
    shard.carryOut { step in
      // It has left the outbox, and is not written: the creation waits for whoever is at it.
      if order.isEmpty { #expect(decide(Creation(tasks: [], reply: { _ in nil }) { _ in }) == false) }
      order.append(step.creation == nil ? "decided" : "created")
    }
    #expect(order == ["decided", "created"] && shard.isIdle)
  }
}
