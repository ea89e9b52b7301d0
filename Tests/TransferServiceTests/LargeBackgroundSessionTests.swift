import HTTPFields
import Ledger
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferService

/// The worker keeps the whole of a large session only while a task of the session has an attempt.
@Suite(.blocking, .endsInTime) struct LargeBackgroundSessionTests {
  private static func enlarge(_ configuration: inout SessionConfiguration) {
    configuration.httpAdditionalHeaders = HTTPHeaders([
      .init(name: "X-Session", value: "7"), .init(name: "X-Long", value: String(repeating: "x", count: 5000)),
    ])
  }

  private static func origin(_ seen: Gathered) -> TestOrigin {
    TestOrigin { request, socket in
      seen.values.withLock { $0.append(request["X-Session"]) }
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
  }
  private final class Gathered: Sendable {
    let values = Mutex<[String?]>([])
  }

  private func isOutline(_ session: TransferSession, _ process: WorkerBench.Process) -> Bool? {
    process.worker.session(session.id)?.isOutline
  }

  @Test func taskSubmittedAfterLastAttemptUsesSessionConfiguration() async throws {
    let seen = Gathered()
    let origin = Self.origin(seen)
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session(Self.enlarge)
    for number in 0..<3 {
      let tasks = [
        try await bench.task("\(origin.url)/\(number)a", in: session),
        try await bench.task("\(origin.url)/\(number)b", in: session),
      ]
      try await bench.send(tasks.map { .submit($0.id) }, of: session, to: process)
      #expect(try await bench.outcomes(tasks[0], tasks[1]).allSatisfy { $0.error == nil })
      #expect(isOutline(session, process) == true && process.worker.isIdle)
    }
    #expect(seen.values.withLock { $0 } == Array(repeating: "7", count: 6))
    await process.stop()
  }

  @Test func recoveredTaskUsesSessionConfiguration() async throws {
    let seen = Gathered()
    let origin = Self.origin(seen)
    let bench = try WorkerBench()
    let first = try await bench.started()
    let session = try await bench.session(Self.enlarge)
    let task = try await bench.task(origin.url, in: session, beginning: bench.now.adding(seconds: 60))
    try await bench.send([.submit(task.id)], of: session, to: first)
    #expect(try await bench.work().count == 1)
    await first.stop()
    let second = try await bench.started()
    #expect(isOutline(session, second) == true && !second.worker.isIdle)
    bench.advance(60)
    second.worker.deadlines.wake()
    #expect(try await bench.outcomes(task)[0].error == nil)
    #expect(seen.values.withLock { $0 } == ["7"])
    await second.stop()
  }

  @Test func taskOfUnreadableSessionStaysInQueue() async throws {
    let seen = Gathered()
    let origin = Self.origin(seen)
    let bench = try WorkerBench()
    let first = try await bench.started()
    let (large, small) = (try await bench.session(Self.enlarge), try await bench.session())
    try await bench.send([], of: small, to: first)
    let ended = try await bench.task(origin.url + "/1", in: large)
    try await bench.send([.submit(ended.id)], of: large, to: first)
    _ = try await bench.outcomes(ended)
    try bench.set("x", asStateOf: large)
    let (waiting, other) = (
      try await bench.task(origin.url + "/2", in: large), try await bench.task(origin.url + "/3", in: small)
    )
    try await bench.send([.submit(waiting.id)], of: large, to: first)
    try await bench.send([.submit(other.id)], of: small, to: first)
    #expect(try await bench.outcomes(other)[0].error == nil, "a task of another session does not wait")
    #expect(try await bench.store.commands(after: 0, limit: 9).count == 1 && first.worker.isIdle)
    #expect(seen.values.withLock { $0 } == ["7", nil])
    await first.stop()
  }

  @Test func smallSessionStaysWhole() async throws {
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session()
    try await bench.send([], of: session, to: process)
    try await process.worker.loadSessions()
    #expect(isOutline(session, process) == false)
    await process.stop()
  }
}

extension WorkerBench {
  fileprivate func set(_ state: String, asStateOf session: TransferSession) throws {
    let id = session.id.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    try OfflineDatabase.execute("UPDATE session SET state = '\(state)' WHERE id = x'\(id)'", at: database)
  }
}
