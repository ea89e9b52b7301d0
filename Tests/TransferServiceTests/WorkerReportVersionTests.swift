import Foundation
import Ledger
import SQLiteLedger
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// Reports of a worker with a different version.
@Suite(.blocking, .endsInTime) struct WorkerReportVersionTests {
  private func ended(_ task: TransferTask) -> WorkerReport {
    .fact(.ended(task.id, task.outcome(.timedOut, "", at: WorkerSamples.time)))
  }

  /// The task's end is reported in an unknown form. The row stays in the ledger, and the task is not submitted again.
  @Test func `unreadable news are kept`() async throws {
    let bench = try await LiveServiceBench()
    let session = try await bench.session(.background)
    let (held, other) = (
      try await bench.task("http://127.0.0.1:1/", in: session, kind: .download),
      try await bench.task("http://127.0.0.1:1/", in: session, kind: .download)
    )
    let unknown = QueueDocumentCoding.encode(ended(held)).replacingOccurrences(
      of: #""ended""#, with: #""endedOtherwise""#)
    let behind = QueueDocumentCoding.encode(
      WorkerReport.fact(
        .willRetry(held.id, count: 1, at: WorkerSamples.time, wait: WorkerSamples.retryWait)))
    try await bench.tell([unknown, behind, QueueDocumentCoding.encode(ended(other))])
    #expect(try await bench.end(of: other.id).error?.reason == .url(.timedOut))
    #expect(try await bench.store.workerReports(after: 0, limit: 9).map(\.content) == [unknown, behind])
    #expect(try await bench.service.tasks.task(held.id).state == .running)
    #expect(try await bench.service.tasks.task(held.id).retryCount == 0)
    #expect(bench.service.refusedDocuments == 2)
    // The documents that the worker cannot read count too.
    try await bench.tell([QueueDocumentCoding.encode(WorkerReport.refused(count: 3))])
    #expect(bench.service.refusedDocuments == 5)
    await bench.stop()
  }
}
