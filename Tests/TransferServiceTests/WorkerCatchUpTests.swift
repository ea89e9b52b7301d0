import Foundation
import Ledger
import SQLiteLedger
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// The state of background tasks when a service starts.
@Suite(.endsInTime) struct WorkerCatchUpTests {
  private static func outcome(of task: TransferTask) -> TransferOutcome {
    TransferOutcome(
      error: nil, currentRequest: task.currentRequest, response: nil, progress: task.progress,
      transactions: [], endedAt: ServiceBench.start)
  }

  @Test func `recovery does not wait for news of the worker`() async throws {
    let bench = try ServiceBench()
    let task = try await bench.task(1)
    try await bench.write { change in
      for _ in 0..<1000 { change.report(.fact(.began(task.id, at: ServiceBench.start))) }
      change.report(.fact(.ended(task.id, Self.outcome(of: task))))
    }
    #expect(try await bench.service.recover() == 0)
    // A wake-up must not read reports before all sessions are known.
    bench.service.pollWorkerReports()
    #expect(try await bench.store.workerReports(after: 0, limit: 2000).count == 1001)
    #expect(try await bench.service.tasks.task(task.id).state == .running)
    try await bench.service.catchUp()
    #expect(try await bench.store.workerReports(after: 0, limit: 1).isEmpty)
    #expect(try await bench.service.tasks.task(task.id).state == .completed)
    #expect(try await bench.submitted() == [])
    await bench.stop()
  }

  /// Other commits wait for one page of reports, not for all.
  @Test func `commits of clients interleave with pages of worker reports`() async throws {
    let bench = try ServiceBench()
    let task = try await bench.task(1)
    let count = 20 * WorkerReportReader.page
    try await bench.write { change in
      for _ in 0..<count { change.report(.fact(.began(task.id, at: ServiceBench.start))) }
    }
    _ = try await bench.service.recover()
    async let caughtUp: Void = bench.service.catchUp()
    var left = [count]
    while let last = left.last, last > 0 {
      try await bench.write { $0.lastIdentifiers = [ServiceBench.session.id: 7] }
      let first = try await bench.store.workerReports(after: 0, limit: 1).first?.number
      left.append(first.map { count - Int($0) + 1 } ?? 0)
    }
    try await caughtUp
    // A client's commits see the worker's progress about once for each page.
    #expect(left.count > 5, "\(left)")
    await bench.stop()
  }

  @Test func `unsubmitted tasks are submitted once`() async throws {
    let bench = try ServiceBench()
    let (nowhere, waiting) = (try await bench.task(1), try await bench.task(2))
    let (there, ended) = (try await bench.task(3), try await bench.task(4))
    let cancelled = try await bench.task(5) { _ = $0.lifecycle.cancel() }
    let suspended = try await bench.task(6) { _ = $0.lifecycle.suspend() }
    try await bench.write { change in
      change.commands = [BackgroundCommand.submit(waiting.id).stored(for: ServiceBench.session.id)]
      change.work = [
        StoredWork(
          task: there.id, session: ServiceBench.session.id, document: QueueDocumentCoding.encode(WorkState()))
      ]
      change.report(.fact(.ended(ended.id, Self.outcome(of: ended))))
    }
    _ = try await bench.service.recover()
    // It is unknown yet which tasks the worker has. A client's resume must not start a task again.
    for task in [nowhere, there, ended, suspended] {
      _ = try await bench.service.tasks.resume(task.id)
    }
    #expect(try await bench.submitted() == [waiting.id])
    try await bench.service.catchUp()
    #expect(Set(try await bench.submitted()) == [waiting.id, nowhere.id, suspended.id])
    #expect(try await bench.submitted().count == 3)
    #expect(try await bench.service.tasks.task(ended.id).error == nil)
    #expect(try await bench.service.tasks.task(cancelled.id).error?.reason == .url(.cancelled))
    for task in [nowhere, waiting, there] {
      #expect(try await bench.service.tasks.task(task.id).state == .running)
    }
    await bench.stop()
  }

  /// A service died between the commits of a task's row and its command.
  @Test func `lost command is sent again`() async throws {
    let bench = try ServiceBench()
    let suspended = try await bench.task(1) { _ = $0.lifecycle.suspend() }
    try await bench.write { change in
      change.work = [
        StoredWork(
          task: suspended.id, session: ServiceBench.session.id,
          document: QueueDocumentCoding.encode(WorkState()))
      ]
    }
    _ = try await bench.service.recover()
    try await bench.service.catchUp()
    await bench.written()
    let commands = try await bench.store.commands(after: 0, limit: 10).map {
      try QueueDocumentCoding.decode(BackgroundCommand.self, $0.content.document)
    }
    #expect(commands.count == 1)
    guard case .task(suspended.id, .suspend)? = commands.first else {
      Issue.record("\(commands)")
      return
    }
    await bench.stop()
  }

  /// The unreadable report may be the task's end. Submitting the task again might send its request twice.
  @Test func `task with unreadable news is not submitted`() async throws {
    let bench = try ServiceBench()
    let (held, other) = (try await bench.task(2), try await bench.task(3))
    let unknown = QueueDocumentCoding.encode(
      WorkerReport.fact(
        .willRetry(held.id, count: 1, at: ServiceBench.start, wait: WorkerSamples.retryWait))
    )
    .replacingOccurrences(of: #""retries""#, with: #""retriesOtherwise""#)
    try await bench.write { $0.workerReports = [unknown] }
    _ = try await bench.service.recover()
    try await bench.service.catchUp()
    #expect(try await bench.submitted() == [other.id])
    #expect(bench.service.refusedDocuments == 1)
    #expect(try await bench.store.workerReports(after: 0, limit: 9).map(\.content) == [unknown])
    await bench.stop()
  }
}
