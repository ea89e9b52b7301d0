import Foundation
import Ledger
import SQLiteLedger
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// News of a worker of another version.
@Suite(.blocking, .endsInTime) struct NewsVersionTests {
  private func ended(_ task: TransferTask) -> WorkerNews {
    .fact(.ended(task.id, task.outcome(.timedOut, "", at: WorkerSamples.time)))
  }

  /// The end of a task that is told in words that are not understood: it stays in the store, and the task is not handed over again.
  @Test func whatIsNotUnderstoodIsKept() async throws {
    let bench = try await LiveServiceBench()
    let session = try await bench.session(.background)
    let (held, other) = (
      try await bench.task("http://127.0.0.1:1/", in: session, kind: .download),
      try await bench.task("http://127.0.0.1:1/", in: session, kind: .download)
    )
    let unknown = WorkerDocument.encode(ended(held)).replacingOccurrences(
      of: #""ended""#, with: #""endedOtherwise""#)
    let behind = WorkerDocument.encode(
      WorkerNews.fact(
        .retries(held.id, count: 1, at: WorkerSamples.time, wait: WorkerSamples.retryWait)))
    try await bench.tell([unknown, behind, WorkerDocument.encode(ended(other))])
    #expect(try await bench.end(of: other.id).error?.reason == .url(.timedOut))
    #expect(try await bench.store.news(after: 0, limit: 9).map(\.content) == [unknown, behind])
    #expect(try await bench.service.tasks.task(held.id).state == .running)
    #expect(try await bench.service.tasks.task(held.id).retryCount == 0)
    #expect(bench.service.refusedDocuments == 2)
    // What the worker leaves counts, too.
    try await bench.tell([WorkerDocument.encode(WorkerNews.refused(count: 3))])
    #expect(bench.service.refusedDocuments == 5)
    await bench.stop()
  }
}
