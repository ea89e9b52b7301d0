import BlobStore
import Foundation
import Ledger
import SQLiteLedger
import Synchronization
import SimulatedStores
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// A worker with a real ledger and a real engine, controlled by command rows.
@Suite(.blocking, .endsInTime) struct BackgroundWorkerTests {
  private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

  /// Sends these replies in turn, and the last one from then on.
  private static func origin(_ replies: [UInt8]?...) -> TestOrigin {
    let number = Mutex(0)
    return TestOrigin { _, socket in
      let index = number.withLock { number in
        defer { number += 1 }
        return number
      }
      // `nil` closes the connection without a reply.
      guard let reply = replies[min(index, replies.count - 1)] else { return false }
      try socket.write(reply)
      return true
    }
  }

  @Test func `finished task leaves its outcome and no work or commands`() async throws {
    let origin = Self.origin(TestOrigin.reply("200 OK", Self.bytes))
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session()
    let (large, small) = (
      try await bench.task(origin.url + "/large", in: session),
      try await bench.task(origin.url + "/small", in: session, kind: .data)
    )
    try await bench.send([.submit(large.id), .submit(small.id)], of: session, to: process)
    let outcomes = try await bench.outcomes(large, small)
    #expect(outcomes.allSatisfy { $0.error == nil && $0.size == Int64(Self.bytes.count) })
    let stamp = BlobStamp(epoch: 1, attempt: 1)
    #expect(outcomes.map(\.blob) == [stamp, stamp])
    #expect(try bench.body(of: large, outcomes[0]) == Self.bytes)
    // The report of a download's end includes its response.
    #expect(try await bench.news().names(of: large.id) == ["began", "ended"])
    #expect(try await bench.news().names(of: small.id) == ["began", "response", "ended"])
    #expect(try await bench.work().isEmpty)
    #expect(try await bench.store.commands(after: 0, limit: 9).isEmpty)
    #expect(process.worker.isIdle)
    await process.stop()
  }

  @Test func `task that is submitted twice runs once`() async throws {
    let origin = Self.origin(TestOrigin.reply("200 OK"))
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session, beginning: bench.now.adding(seconds: 60))
    try await bench.send([.submit(task.id)], of: session, to: process)
    try await bench.send([.submit(task.id)], of: session, to: process)
    bench.advance(60)
    process.worker.deadlines.wake()
    _ = try await bench.outcomes(task)
    #expect(origin.requests.count == 1)
    await process.stop()
  }

  // MARK: Retries

  @Test func `failed attempts are retried`() async throws {
    let origin = Self.origin(nil, nil, TestOrigin.reply("200 OK", [1]))
    let bench = try WorkerBench()
    let (process, _, task) = try await bench.submitted(origin.url)
    let outcome = try await bench.outcomes(task)[0]
    #expect(outcome.error == nil && outcome.response?.status == 200)
    let news = try await bench.news()
    #expect(
      news.names(of: task.id) == ["began", "retries", "began", "retries", "began", "ended"])
    let counts = news.compactMap { if case .fact(.willRetry(_, let count, _, _)) = $0 { count } else { nil } }
    #expect(counts == [1, 2])
    await process.stop()
  }

  /// The response of a retried attempt is not reported; the response of the last attempt is.
  @Test(arguments: [(nil, 200), (2, 200), (1, 503)] as [(Int?, Int)])
  func `only the last response of a busy origin is reported`(_ attempts: Int?, _ status: Int) async throws {
    let origin = Self.origin(
      TestOrigin.reply("503 Service Unavailable", [1, 2, 3]), TestOrigin.reply("200 OK"))
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session { $0.retry?.maximumAttempts = attempts }
    let task = try await bench.task(origin.url, in: session, kind: .data)
    try await bench.send([.submit(task.id)], of: session, to: process)
    #expect(try await bench.outcomes(task)[0].response?.status == status)
    let shown = try await bench.news().compactMap {
      if case .fact(.response(_, let response, _, _)) = $0 { response.status } else { nil }
    }
    #expect(shown == [status])
    await process.stop()
  }

  @Test func `expired deadline ends the task without a retry`() async throws {
    let bench = try WorkerBench()
    let origin = TestOrigin { _, _ in
      bench.advance(3600)
      return false
    }
    let process = try await bench.started()
    let session = try await bench.session { $0.timeoutIntervalForResource = 3600 }
    let task = try await bench.task(origin.url, in: session)
    try await bench.send([.submit(task.id)], of: session, to: process)
    let error = try await bench.outcomes(task)[0].error
    #expect(error?.reason == .url(.timedOut))
    #expect(origin.requests.count == 1)
    await process.stop()
  }

  @Test func `task that cannot be retried in time ends at its deadline`() async throws {
    let origin = Self.origin(nil)
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session {
      $0.timeoutIntervalForResource = 0.9
      $0.retry?.backoff = 1000
    }
    let task = try await bench.task(origin.url, in: session)
    let start = ContinuousClock.now
    try await bench.send([.submit(task.id)], of: session, to: process)
    let outcome = try await bench.outcomes(task)[0]
    #expect(ContinuousClock.now - start >= .milliseconds(900))
    #expect(outcome.error?.reason == .url(.timedOut) && !outcome.transactions.isEmpty)
    #expect(origin.requests.count == 1)
    await process.stop()
  }

  /// The worker that takes over ends the task and sends nothing.
  @Test func `deadline applies after a takeover`() async throws {
    let origin = Self.origin(nil)
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session {
      $0.timeoutIntervalForResource = 3600
      $0.retry?.backoff = 1000
    }
    let task = try await bench.task(origin.url, in: session)
    try await bench.send([.submit(task.id)], of: session, to: process)
    _ = try await bench.news { $0.names(of: task.id).contains("retries") }
    await process.stop()
    bench.advance(3600)
    let next = try await bench.started()
    #expect(try await bench.outcomes(task)[0].error?.reason == .url(.timedOut))
    #expect(origin.requests.count == 1)
    await next.stop()
  }

  @Test func `suspension extends the deadline`() {
    var state = WorkState()
    let start = WorkerBench.start
    (state.startedAt, state.isSuspended, state.suspendedAt) = (start, true, start.adding(seconds: 10))
    state.resume(at: start.adding(seconds: 110))
    #expect(state.startedAt == start.adding(seconds: 100) && !state.isSuspended && state.suspendedAt == nil)
    // A clock that was set back does not shorten the deadline.
    (state.isSuspended, state.suspendedAt) = (true, start.adding(seconds: 200))
    state.resume(at: start)
    #expect(state.startedAt == start.adding(seconds: 100))
  }

  @Test func `permanent error is not retried`() async throws {
    let bench = try WorkerBench()
    let (process, _, task) = try await bench.submitted("http://10.0.0.1/")
    #expect(try await bench.outcomes(task)[0].error?.reason == .ferry(.destinationNotPermitted))
    #expect(!(try await bench.news().names(of: task.id).contains("retries")))
    await process.stop()
  }

  /// The time of the next attempt is stored, so another worker waits only for the rest.
  @Test func `retry time is stored in the work row`() async throws {
    let origin = Self.origin(nil)
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session { $0.retry?.backoff = 1000 }
    let task = try await bench.task(origin.url, in: session)
    try await bench.send([.submit(task.id)], of: session, to: process)
    _ = try await bench.news { $0.names(of: task.id).contains("retries") }
    let state = try #require(try await bench.work()[task.id])
    #expect(state.retries == 1 && state.attempts == 1 && !state.isActive && state.retryAt != nil)
    let delay = try #require(state.retryDelay)
    #expect((500...1000).contains(delay))
    #expect(state.retryAt == bench.now.adding(seconds: delay))
    await process.stop()
    // The retry time has passed meanwhile.
    bench.advance(1000)
    let next = try await bench.started()
    _ = try await bench.news { news in
      news.contains { if case .fact(.willRetry(task.id, 2, _, _)) = $0 { true } else { false } }
    }
    await next.stop()
  }

  // MARK: Commands

  @Test func `task starts at its begin date`() async throws {
    let origin = Self.origin(TestOrigin.reply("200 OK"))
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session, beginning: bench.now.adding(seconds: 3600))
    try await bench.send([.submit(task.id)], of: session, to: process)
    process.worker.deadlines.wake()
    #expect(try await bench.work()[task.id]?.attempts == 0)
    #expect(!process.worker.isIdle)
    bench.advance(3600)
    process.worker.deadlines.wake()
    _ = try await bench.outcomes(task)
    #expect(try await bench.news().names(of: task.id) == ["beganDelayed", "began", "ended"])
    await process.stop()
  }

  @Test func `task starts when its begin date is removed`() async throws {
    let origin = Self.origin(TestOrigin.reply("200 OK"))
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session, beginning: bench.now.adding(seconds: 3600))
    try await bench.send([.submit(task.id), .task(task.id, .setBeginDate(nil))], of: session, to: process)
    #expect(try await bench.outcomes(task)[0].error == nil)
    await process.stop()
  }

  @Test func `suspended task does not start`() async throws {
    let origin = Self.origin(TestOrigin.reply("200 OK"))
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session, beginning: bench.now.adding(seconds: 60))
    try await bench.send([.submit(task.id), .task(task.id, .suspend)], of: session, to: process)
    bench.advance(60)
    process.worker.deadlines.wake()
    let state = try #require(try await bench.work()[task.id])
    #expect(state.isSuspended && state.attempts == 0)
    try await bench.send([.task(task.id, .resume)], of: session, to: process)
    #expect(try await bench.outcomes(task)[0].error == nil)
    await process.stop()
  }

  @Test func `suspended attempt continues after resume`() async throws {
    let (asked, gate) = (Gate(), Gate())
    let origin = TestOrigin { _, socket in
      asked.open()
      guard gate.wait() else { return false }
      try socket.write(TestOrigin.reply("200 OK", Self.bytes))
      return true
    }
    let bench = try WorkerBench()
    let (process, session, task) = try await bench.submitted(origin.url)
    #expect(asked.wait())
    try await bench.send([.task(task.id, .suspend)], of: session, to: process)
    let state = try #require(try await bench.work()[task.id])
    #expect(state.isSuspended && state.isActive)
    gate.open()
    try await bench.send([.task(task.id, .resume)], of: session, to: process)
    #expect(try await bench.outcomes(task)[0].size == Int64(Self.bytes.count))
    #expect(origin.requests.count == 1)
    await process.stop()
  }

  @Test(arguments: [true, false]) func `waiting task can be cancelled`(_ keepsPartial: Bool) async throws {
    let bench = try WorkerBench()
    let session = try await bench.session()
    let task = try await bench.task("http://127.0.0.1:1/", in: session)
    let point = ResumePoint(partial: PartialBody(offset: 3, total: 9, validator: "\"v\""), source: task.id)
    try Data("abc".utf8).write(to: URL(fileURLWithPath: bench.path(BlobKey(task.id, .partial, nil))))
    try await bench.leave(task) { state in
      (state.partial, state.retries) = (point, 1)
      (state.retryAt, state.retryDelay) = (bench.now.adding(seconds: 1000), 1000)
    }
    let process = try await bench.started()
    try await bench.send([.task(task.id, .cancel(keepsPartial: keepsPartial))], of: session, to: process)
    let outcome = try await bench.outcomes(task)[0]
    #expect(outcome.error?.reason == .url(.cancelled))
    // The worker that found the bytes has put them under its own stamp.
    let stamp = BlobStamp(epoch: 1)
    let kept = ResumePoint(
      partial: PartialBody(offset: 3, total: 9, validator: "\"v\""), source: task.id, blob: stamp)
    #expect(outcome.partial == (keepsPartial ? kept : nil))
    #expect(outcome.error?.resumeDataAvailable == keepsPartial)
    #expect(try await bench.work().isEmpty)
    // The worker's pool deletes the file.
    let expected = keepsPartial ? [BlobKey(task.id, .partial, stamp)] : []
    Patience.wait { bench.blobs.list(.tasks) != expected }
    #expect(bench.blobs.list(.tasks) == expected)
    await process.stop()
  }

  @Test func `running task can be cancelled`() async throws {
    let (asked, gate) = (Gate(), Gate())
    let origin = TestOrigin { _, _ in
      asked.open()
      gate.wait()
      return false
    }
    let bench = try WorkerBench()
    let (process, session, task) = try await bench.submitted(origin.url)
    #expect(asked.wait())
    try await bench.send([.task(task.id, .cancel(keepsPartial: false))], of: session, to: process)
    // The task is not retried, whatever the engine reports.
    #expect(try await bench.outcomes(task)[0].error?.reason == .url(.cancelled))
    #expect(process.worker.isIdle)
    gate.open()
    await process.stop()
  }

  /// Commands for a deleted task must not block commands for others.
  @Test func `commands for a missing task are consumed without effect`() async throws {
    let origin = Self.origin(TestOrigin.reply("200 OK"))
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session)
    let gone = TaskID(high: 9, low: 9)
    try await bench.put(
      [.submit(gone), .task(gone, .resume), .task(gone, .cancel(keepsPartial: true))], of: session)
    try await bench.send([.submit(task.id)], of: session, to: process)
    #expect(try await bench.outcomes(task)[0].error == nil)
    #expect(try await bench.store.commands(after: 0, limit: 9).isEmpty)
    #expect(process.worker.isIdle)
    await process.stop()
  }

  // MARK: Discretionary tasks

  @Test func `discretionary task waits for its window`() async throws {
    let origin = Self.origin(TestOrigin.reply("200 OK"))
    // The clock starts at 2027-01-15T08:00:00Z.
    let bench = try WorkerBench(discretion: DiscretionaryPolicy(windows: [try DailyWindow("22:00-06:00")]))
    let process = try await bench.started()
    let session = try await bench.session { $0.isDiscretionary = true }
    let task = try await bench.task(origin.url, in: session)
    try await bench.send([.submit(task.id)], of: session, to: process)
    process.worker.reviewDiscretionary()
    #expect(try await bench.work()[task.id]?.attempts == 0)
    bench.advance(14 * 3600)
    process.worker.reviewDiscretionary()
    #expect(try await bench.outcomes(task)[0].error == nil)
    await process.stop()
  }

  @Test func `discretionary task waits until ordinary tasks have ended`() async throws {
    let (asked, gate) = (Gate(), Gate())
    let origin = TestOrigin { request, socket in
      if request.path == "/slow" {
        asked.open()
        gate.wait()
      }
      try socket.write(TestOrigin.reply("200 OK"))
      return true
    }
    let bench = try WorkerBench()
    let process = try await bench.started()
    let (session, patient) = (
      try await bench.session(), try await bench.session { $0.isDiscretionary = true }
    )
    let (slow, task) = (
      try await bench.task(origin.url + "/slow", in: session), try await bench.task(origin.url, in: patient)
    )
    try await bench.send([.submit(slow.id)], of: session, to: process)
    #expect(asked.wait())
    try await bench.send([.submit(task.id)], of: patient, to: process)
    process.worker.reviewDiscretionary()
    #expect(try await bench.work()[task.id]?.attempts == 0)
    gate.open()
    _ = try await bench.outcomes(slow, task)
    #expect(origin.requests.map(\.path) == ["/slow", "/"])
    await process.stop()
  }
}
