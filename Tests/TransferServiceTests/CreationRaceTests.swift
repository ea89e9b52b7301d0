import Ledger
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// Commands that arrive during a task's creation, when its row is committed and the task has not begun.
@Suite(.blocking, .endsInTime) struct CreationRaceTests {
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK"))
    return true
  }
  private let written = Gate()
  private let goesOn = Gate()

  /// Makes a bench that pauses the creation of tasks after the commit.
  private func bench() async throws -> LiveServiceBench {
    let (written, goesOn) = (written, goesOn)
    var moments = ObservedLedger.Moments()
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

  /// Waits until an update waits for the creation.
  private func waiting(for task: TaskID, _ bench: LiveServiceBench) async throws {
    let session = try #require(bench.service.runtime.directory[task])
    while !bench.service.runtime.shard(of: session).hasParked(task) {
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  @Test func `cancel during creation cancels the task`() async throws {
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

  @Test func `suspend during creation suspends the task`() async throws {
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

  @Test func `cancelTasks during creation cancels the new task`() async throws {
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

  /// finishTasksAndInvalidate lets a running task finish.
  @Test func `finishTasks during creation lets the new task finish`() async throws {
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

  @Test func `refused creation leaves no task to waiting visits`() throws {
    let task = NewTask(id: TaskID(high: 1, low: 1), LiveServiceBench.specification("http://a.test/"))
    let found = Mutex<[Bool]>([])
    for isWritten in [true, false] {
      let directory = TaskSessionIndex()
      let shard = SessionStripe(seed: 1, directory: directory) { _ in
        InputContext(wall: WorkerSamples.time, uptime: .now)
      } isElsewhere: { _ in
        false
      }
      shard.insert(SessionMachine(.shared(.shared, of: .default), limit: 9))
      _ = shard.visit(.shared) { machine, step in _ = machine.apply(.create([task]), &step) }
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

  @Test func `creation is carried out after earlier steps`() {
    let shard = SessionStripe(seed: 1, directory: TaskSessionIndex()) { _ in
      InputContext(wall: WorkerSamples.time, uptime: .now)
    } isElsewhere: { _ in
      false
    }
    shard.insert(SessionMachine(.shared(.shared, of: .default), limit: 9))
    func decide(_ creation: TaskCreation?) -> Bool? {
      shard.visit(.shared) { _, step in
        step.creation = creation
        step.onCommit.append { _ in }
      }?.mustCarryOut
    }
    var order: [String] = []
    #expect(decide(nil) == true)
    shard.carryOut { step in
      // The transition has left the outbox but is not written. The creation waits for the thread that carries out the transitions.
      if order.isEmpty { #expect(decide(TaskCreation(tasks: [], reply: { _ in nil }) { _ in }) == false) }
      order.append(step.creation == nil ? "decided" : "created")
    }
    #expect(order == ["decided", "created"] && shard.isIdle)
  }
}
