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

/// Answers that cross an end on their way to whoever carries the task out.
@Suite(.blocking, .endsInTime) struct LateAnswerTests {
  /// Who cancels has nothing more to decide: what is answered afterwards would begin something that nobody ends.
  @Test(arguments: [false, true]) func aCancelledTaskAsksNothing(_ isBySession: Bool) async throws {
    let bench = try await LiveServiceBench()
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    let session = try await bench.session(.background, delegate: delegate)
    let task = try await bench.task("http://127.0.0.1:1/", in: session, kind: .download)
    let news = WorkerNews.fact(
      .asked(
        task.id, 1, .challenge(WorkerSamples.challenge(nil), .taskDidReceiveChallenge),
        at: WorkerSamples.time))
    try await bench.tell([WorkerDocument.encode(news)])
    let decision = try await bench.decision(of: session)
    // Nobody carries it out here: it stays canceling.
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

  /// Whoever dies before the end of a cancelled task is on the disk may have cancelled nothing: its success is told again, and then its
  /// body is wanted.
  @Test func theBodyOfACancelledTaskGoesOnceItsEndHolds() async throws {
    let bench = try await LiveServiceBench()
    let session = try await bench.session(.background)
    let task = try await bench.task("http://127.0.0.1:1/", in: session, kind: .download)
    let room = bench.service.room
    let bodies = room.engine.bodies(of: session, .background)
    let body = BlobKey(task.id, .body, nil)
    try bodies.create(body.part(.draft)).write([[1, 2]], at: 0)
    #expect(bodies.move(body.part(.draft), to: body))
    _ = try await bench.service.tasks.cancel(task.id)
    let gate = Gate()
    bench.store.ping { gate.wait() }
    var outcome = task.outcome(.cancelled, "cancelled", at: bench.service.identifiers.now())
    (outcome.error, outcome.body, outcome.size) = (nil, .file, 2)
    room.absorb([.ended(task.id, outcome)])
    await room.pool.run {}
    #expect(bodies.size(of: body) == 2)
    gate.open()
    #expect(try await bench.end(of: task.id).error?.name == "cancelled")
    try await room.recorder.settle()
    await room.pool.run {}
    #expect(bodies.size(of: body) == nil)
    await bench.stop()
  }

  /// The transfer breaks off when its client has just made it a download: the engine tells the end of a data task that is over.
  @Test func theEndOfADataTaskIsThatOfTheDownloadItBecame() async throws {
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
    bench.service.room.absorb([
      .ended(
        task.id, task.outcome(.networkConnectionLost, "lost", at: bench.service.identifiers.now()))
    ])
    let ended = try await bench.end(of: download)
    #expect(ended.state == .completed && ended.error?.reason == .url(.networkConnectionLost))
    #expect(try await bench.service.tasks.task(task.id).error == nil)
    await bench.stop()
  }
}
