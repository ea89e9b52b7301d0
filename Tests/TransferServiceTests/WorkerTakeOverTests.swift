import Foundation
import Ledger
import SQLiteLedger
import Synchronization
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// A worker continues the tasks of an earlier worker.
@Suite(.blocking, .endsInTime) struct WorkerTakeOverTests {
  private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private static let half = 150_000
  private static let head =
    "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\nETag: \"v\"\r\nAccept-Ranges: bytes\r\n\r\n"

  /// Sends half of the bytes and then waits. Requests with a range receive the rest.
  private static func origin(_ gate: Gate) -> TestOrigin {
    TestOrigin { request, socket in
      if let range = request["Range"], let first = Int(range.dropFirst(6).dropLast()) {
        let fields = [
          ("ETag", "\"v\""), ("Content-Range", "bytes \(first)-\(bytes.count - 1)/\(bytes.count)"),
        ]
        try socket.write(TestOrigin.reply("206 Partial Content", Array(bytes[first...]), fields))
        return true
      }
      try socket.write(Array(head.utf8) + bytes[..<half])
      gate.wait()
      return false
    }
  }

  private func received(_ news: [WorkerReport]) -> Int64 {
    news.compactMap {
      if case .fact(.progress(_, let progress, _)) = $0 { progress.countOfBytesReceived } else { nil }
    }
    .max() ?? 0
  }

  @Test func `draining worker keeps the partial body, and the next one resumes`() async throws {
    let gate = Gate()
    let origin = Self.origin(gate)
    let bench = try WorkerBench()
    let first = try await bench.started()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session)
    try await bench.send([.submit(task.id)], of: session, to: first)
    _ = try await bench.news { received($0) >= Self.half }
    await first.worker.drain()
    let state = try #require(try await bench.work()[task.id])
    #expect(!state.isActive && state.partial?.download?.partial.offset == Int64(Self.half))
    #expect(try await bench.news().names(of: task.id) == ["began"])
    // Commands that arrive now are for the next worker.
    try await bench.send([.task(task.id, .setPriority(1))], of: session, to: first)
    await first.stop()
    gate.open()
    let second = try await bench.started()
    let outcome = try await bench.outcomes(task)[0]
    #expect(outcome.error == nil && outcome.size == Int64(Self.bytes.count))
    #expect(try bench.body(of: task, outcome) == Self.bytes)
    #expect(origin.requests.map { $0["Range"] } == [nil, "bytes=\(Self.half)-"])
    #expect(try await bench.news().names(of: task.id).contains("resumed"))
    // After a handover, no reports of a take-over are needed.
    #expect(!(try await bench.news().names(of: task.id).contains("wasTakenOver")))
    await second.stop()
  }

  @Test func `draining an idle worker returns`() async throws {
    let bench = try WorkerBench()
    let process = try await bench.started()
    await process.worker.drain()
    let session = try await bench.session()
    let task = try await bench.task("http://127.0.0.1:1/", in: session)
    try await bench.send([.submit(task.id)], of: session, to: process)
    // The task waits for the next worker.
    #expect(try await bench.work()[task.id]?.attempts == 0)
    await process.stop()
  }

  @Test(arguments: [(false, true, 3), (true, true, 4), (true, false, 3)] as [(Bool, Bool, Int)])
  func `crash counts against running tasks only`(_ hasCrashed: Bool, _ wasActive: Bool, _ deaths: Int)
    async throws
  {
    let bench = try WorkerBench()
    let session = try await bench.session()
    // The task is suspended, so that no attempt begins.
    let task = try await bench.task("http://127.0.0.1:1/", in: session)
    try await bench.leave(task) { state in
      (state.isActive, state.isSuspended, state.deaths, state.crashes) = (wasActive, true, 3, 5)
    }
    let process = try await bench.started(afterCrash: hasCrashed)
    let state = try #require(try await bench.work()[task.id])
    #expect(state.deaths == deaths && state.crashes == deaths + 2 && !state.isActive)
    #expect(try await bench.news().names(of: task.id) == (wasActive ? ["wasTakenOver"] : []))
    await process.stop()
  }

  @Test func `task fails at the limit of crashes`() async throws {
    let bench = try WorkerBench()
    let session = try await bench.session()
    let task = try await bench.task("http://127.0.0.1:1/", in: session)
    try Data("abc".utf8).write(to: URL(fileURLWithPath: bench.path(BlobKey(task.id, .draft, nil))))
    try await bench.leave(task) { state in
      (state.isActive, state.deaths) = (true, CrashGuard.limit - 1)
      state.partial = ResumePoint(
        partial: PartialBody(offset: 0, total: 9, validator: "\"v\""), source: task.id)
    }
    let process = try await bench.started(afterCrash: true)
    let outcome = try await bench.outcomes(task)[0]
    #expect(outcome.error?.reason == .ferry(.attemptLimitReached))
    #expect(outcome.error?.resumeDataAvailable == true)
    #expect(outcome.partial?.download?.partial.offset == 3)
    #expect(try await bench.work().isEmpty && process.worker.isIdle)
    await process.stop()
  }

  @Test func `next worker resumes from the bytes on disk`() async throws {
    let gate = Gate()
    let origin = Self.origin(gate)
    let bench = try WorkerBench()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session)
    // After a crash the bytes are in the draft, and the row has a smaller offset.
    try Data(Self.bytes[..<Self.half]).write(
      to: URL(fileURLWithPath: bench.path(BlobKey(task.id, .draft, nil))))
    try await bench.leave(task) { state in
      state.isActive = true
      state.partial = ResumePoint(
        partial: PartialBody(offset: 0, total: Int64(Self.bytes.count), validator: "\"v\""), source: task.id)
    }
    let process = try await bench.started(afterCrash: true)
    let outcome = try await bench.outcomes(task)[0]
    #expect(outcome.error == nil)
    #expect(try bench.body(of: task, outcome) == Self.bytes)
    #expect(origin.requests.map { $0["Range"] } == ["bytes=\(Self.half)-"])
    await process.stop()
  }

  /// Three facts must survive a crash: a crashing task's attempt, a sent POST, and bytes taken from another download.
  @Test(arguments: [
    (true, "GET", false), (false, "POST", false), (false, "PATCH", false), (false, "GET", true),
  ])
  func `attempt is committed before its request is sent`(
    _ hasCrashed: Bool, _ method: String, _ goesOn: Bool
  ) async throws {
    let former = TaskID(high: 9, low: 9)
    let point = ResumePoint(partial: PartialBody(offset: 4, total: 8, validator: "\"v\""), source: former)
    let bench = try WorkerBench()
    let process = try await bench.started(afterCrash: hasCrashed)
    let session = try await bench.session()
    let store = bench.store
    let seen = Seen()
    let origin = TestOrigin { request, socket in
      let read = DispatchSemaphore(value: 0)
      Task.detached {
        let rows = try await store.work()
        let states = rows.compactMap { try? QueueDocumentCoding.decode(WorkState.self, $0.document) }
        seen.all.withLock { $0.append(states.map(\.isActive) == [true]) }
        read.signal()
      }
      read.wait()
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    for _ in 0..<20 {
      let file = bench.path(BlobKey(former, .partial, nil))
      if goesOn { #expect(FileManager.default.createFile(atPath: file, contents: Data(count: 4))) }
      let task = try await bench.task(
        origin.url, in: session, method: method, resuming: goesOn ? point : nil)
      try await bench.put([.submit(task.id)], of: session)
      try await process.worker.readCommands()
      _ = try await bench.outcomes(task)
    }
    #expect(seen.all.withLock { $0 } == Array(repeating: true, count: 20))
    await process.stop()
  }

  /// The origin may have acted on the POST, so the next attempt counts and is reported as a retry. A GET is repeated without a
  /// retry.
  @Test(arguments: [("POST", 1), ("GET", 0)]) func `worker death during a POST counts as a retry`(
    _ method: String, _ retries: Int
  ) async throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try WorkerBench()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session, method: method)
    try await bench.leave(task) { state in (state.isActive, state.request) = (true, task.currentRequest) }
    let process = try await bench.started()
    #expect(try await bench.outcomes(task)[0].error == nil)
    let told = try await bench.news().names(of: task.id)
    #expect(told == [retries == 1 ? "retries" : "wasTakenOver", "began", "ended"])
    #expect(origin.requests.count == 1)
    await process.stop()
  }

  @Test func `POST with one allowed attempt is not repeated after a crash`() async throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try WorkerBench()
    let session = try await bench.session { $0.retry?.maximumAttempts = 1 }
    let task = try await bench.task(origin.url, in: session, method: "POST")
    try await bench.leave(task) { $0.isActive = true }
    let process = try await bench.started()
    let outcome = try await bench.outcomes(task)[0]
    #expect(outcome.error?.reason == .url(.networkConnectionLost))
    #expect(try await bench.work().isEmpty && process.worker.isIdle && origin.requests.isEmpty)
    await process.stop()
  }

  /// The next worker sends the POST again, which counts as a retry. A POST that was not sent does not count.
  @Test func `POST that is handed over counts as a retry`() async throws {
    let (asked, gate) = (Gate(), Gate())
    let origin = TestOrigin { _, socket in
      asked.open()
      gate.wait()
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try WorkerBench()
    let first = try await bench.started()
    let session = try await bench.session { $0.httpMaximumConnectionsPerHost = 1 }
    let (sent, queued) = (
      try await bench.task(origin.url, in: session, method: "POST"),
      try await bench.task(origin.url, in: session, method: "POST")
    )
    try await bench.send([.submit(sent.id)], of: session, to: first)
    #expect(asked.wait())
    try await bench.send([.submit(queued.id)], of: session, to: first)
    await first.worker.drain()
    let work = try await bench.work()
    #expect(work[sent.id]?.retries == 1 && work[sent.id]?.attempts == 1)
    #expect(work[queued.id]?.retries == 0 && work[queued.id]?.attempts == 0)
    #expect(try await bench.news().names(of: sent.id) == ["began", "retries"])
    await first.stop()
    for _ in 0..<3 { gate.open() }
    let second = try await bench.started()
    #expect(try await bench.outcomes(sent, queued).allSatisfy { $0.error == nil })
    await second.stop()
  }

  /// Either two workers in a row crashed while these tasks ran, or many did over a longer time. Trying one task at a time shows
  /// which task crashes the worker.
  @Test(arguments: [(1, 1), (0, 19)]) func `suspects are tried one at a time`(_ deaths: Int, _ crashes: Int)
    async throws
  {
    let (asked, gate) = (Gate(), Gate())
    let origin = TestOrigin { _, socket in
      asked.open()
      gate.wait()
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try WorkerBench()
    let session = try await bench.session()
    var tasks: [TransferTask] = []
    for _ in 0..<3 {
      let task = try await bench.task(origin.url, in: session)
      try await bench.leave(task) { ($0.isActive, $0.deaths, $0.crashes) = (true, deaths, crashes) }
      tasks.append(task)
    }
    let process = try await bench.started(afterCrash: true)
    for round in 0..<3 {
      #expect(asked.wait())
      let active = try await bench.work().filter { $0.value.isActive }.map(\.key)
      #expect(active == [tasks[round].id])
      gate.open()
      _ = try await bench.outcomes(tasks[round])
    }
    await process.stop()
  }

  @Test(arguments: [true, false]) func `suspect that waits delays none`(_ isSuspended: Bool) async throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try WorkerBench()
    let session = try await bench.session()
    let (waiting, other) = (
      try await bench.task(origin.url, in: session), try await bench.task(origin.url, in: session)
    )
    try await bench.leave(waiting) { state in
      (state.deaths, state.isSuspended) = (CrashGuard.suspicion, isSuspended)
      if !isSuspended { (state.retryAt, state.retryDelay) = (bench.now.adding(seconds: 1000), 1000) }
    }
    try await bench.leave(other) { $0.deaths = CrashGuard.suspicion }
    let process = try await bench.started()
    #expect(try await bench.outcomes(other)[0].error == nil)
    #expect(try await bench.work()[waiting.id]?.isActive == false)
    if isSuspended {
      try await bench.send([.task(waiting.id, .resume)], of: session, to: process)
      #expect(try await bench.outcomes(waiting)[0].error == nil)
    }
    await process.stop()
  }

  @Test func `work without a task is deleted`() async throws {
    let bench = try WorkerBench()
    let session = try await bench.session()
    let (gone, whole) = (TaskID(high: 9, low: 9), QueueDocumentCoding.encode(WorkState()))
    try await bench.write { change in
      change.work = [StoredWork(task: gone, session: session.id, document: whole)]
    }
    let process = try await bench.started()
    #expect(try await bench.work().isEmpty && process.worker.isIdle)
    await process.stop()
  }

  /// The waiting commands concern an earlier worker's tasks, so they must not be read before the take-over.
  @Test func `commands are read after the takeover`() async throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try WorkerBench()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session)
    try await bench.leave(task) { $0.isSuspended = true }
    try await bench.put([.task(task.id, .resume)], of: session)
    let process = try bench.worker()
    process.worker.pollCommands()
    // Gives a reader enough time to take the commands.
    for _ in 0..<50 { await bench.written() }
    #expect(try await bench.store.commands(after: 0, limit: 9).count == 1)
    try await process.worker.start(afterCrash: false)
    #expect(try await bench.outcomes(task)[0].error == nil)
    await process.stop()
  }
}

private final class Seen: Sendable {
  let all = Mutex<[Bool]>([])
}
