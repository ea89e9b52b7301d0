import BlobStore
import EngineAPI
import EventLoop
import JSON
import Ledger
import SQLiteLedger
import SimulatedStores
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// Answers that cross a task's end on their way to the engine or the worker.
@Suite(.blocking, .endsInTime) struct LateAnswerTests {
  /// An answer after the cancellation would start a transfer that no command ends.
  @Test(arguments: [false, true]) func `cancel withdraws the decision`(_ isBySession: Bool) async throws {
    let bench = try await LiveServiceBench()
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    let session = try await bench.session(.background, delegate: delegate)
    let task = try await bench.task("http://127.0.0.1:1/", in: session, kind: .download)
    let news = WorkerReport.fact(
      .asked(
        task.id, 1, .challenge(WorkerSamples.challenge(nil), .taskDidReceiveChallenge),
        at: WorkerSamples.time))
    try await bench.tell([QueueDocumentCoding.encode(news)])
    let decision = try await bench.decision(of: session)
    // No worker runs the task here, so it stays canceling.
    if isBySession {
      _ = try await bench.service.sessions.invalidate(session, .cancelTasks)
    } else {
      _ = try await bench.service.tasks.cancel(task.id)
    }
    #expect(try await bench.service.tasks.task(task.id).state == .canceling)
    #expect(try await bench.service.decisions.decision(decision.id).state == .withdrawn)
    await #expect(throws: ServiceError.self) {
      try await bench.service.view(of: .default).answer(
        decision.id, with: JSONParser.parse(Array(#"{"disposition":"performDefaultHandling"}"#.utf8)))
    }
    await bench.stop()
  }

  /// A crash before the end's commit may undo the cancellation. The repeated report then says that it succeeded, and the body is needed.
  @Test func `body of a cancelled task is deleted after the commit of its end`() async throws {
    let bench = try await LiveServiceBench()
    let session = try await bench.session(.background)
    let task = try await bench.task("http://127.0.0.1:1/", in: session, kind: .download)
    let runtime = bench.service.runtime
    let bodies = runtime.engine.bodies(of: session, .background)
    let body = BlobKey(task.id, .body, nil)
    try bodies.create(body.part(.draft)).write([[1, 2]], at: 0)
    #expect(bodies.move(body.part(.draft), to: body))
    _ = try await bench.service.tasks.cancel(task.id)
    let gate = Gate()
    bench.store.ping { gate.wait() }
    var outcome = task.outcome(.cancelled, "cancelled", at: bench.service.identifiers.now())
    (outcome.error, outcome.body, outcome.size) = (nil, .file, 2)
    runtime.handle([.ended(task.id, outcome)])
    await runtime.pool.run {}
    #expect(bodies.size(of: body) == 2)
    gate.open()
    #expect(try await bench.end(of: task.id).error?.name == "cancelled")
    try await runtime.recorder.flush()
    await runtime.pool.run {}
    #expect(bodies.size(of: body) == nil)
    await bench.stop()
  }

  /// The transfer fails when the task has just become a download, so the engine reports the end of the data task.
  @Test func `end of a data task ends the download that it became`() async throws {
    let gate = Gate()
    defer { gate.open() }
    let origin = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
      gate.wait()
      return false
    }
    let bench = try await LiveServiceBench()
    var delegate = SessionDelegate()
    delegate.asksForResponses = true
    let session = try await bench.session(delegate: delegate)
    let task = try await bench.task(origin.url, in: session)
    let decision = try await bench.decision(of: session)
    _ = try await bench.service.view(of: .default).answer(
      decision.id, with: JSONParser.parse(Array(#"{"disposition":"becomeDownload"}"#.utf8)))
    let download = try #require(try await bench.service.tasks.task(task.id).downloadTask)
    bench.service.runtime.handle([
      .ended(
        task.id, task.outcome(.networkConnectionLost, "lost", at: bench.service.identifiers.now()))
    ])
    let ended = try await bench.end(of: download)
    #expect(ended.state == .completed && ended.error?.reason == .url(.networkConnectionLost))
    #expect(try await bench.service.tasks.task(task.id).error == nil)
    await bench.stop()
  }
}
