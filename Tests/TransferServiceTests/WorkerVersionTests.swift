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

/// Workers of different versions: unreadable documents are kept, and a later worker reads them again.
@Suite(.blocking, .endsInTime) struct WorkerVersionTests {
  private let origin = TestOrigin { _, socket in
    try socket.write(TestOrigin.reply("200 OK"))
    return true
  }

  private func unknown(_ task: TransferTask) -> StoredCommand {
    let document = QueueDocumentCoding.encode(BackgroundCommand.task(task.id, .suspend))
      .replacingOccurrences(of: #""suspend""#, with: #""holdStill""#)
    return StoredCommand(session: task.sessionID, document: document)
  }

  @Test func `unreadable command is kept with later ones of its task`() async throws {
    let bench = try WorkerBench()
    let process = try await bench.started()
    let session = try await bench.session()
    let (held, other) = (
      try await bench.task(origin.url + "/held", in: session),
      try await bench.task(origin.url + "/other", in: session)
    )
    let command = unknown(held)
    try await bench.write { $0.commands = [command] }
    try await bench.send([.submit(held.id), .submit(other.id)], of: session, to: process)
    #expect(try await bench.outcomes(other)[0].error == nil)
    #expect(try await bench.store.commands(after: 0, limit: 9).map(\.number) == [1, 2])
    #expect(try await bench.news().contains { if case .refused(2) = $0 { true } else { false } })
    #expect(origin.requests.map(\.path) == ["/other"])
    await process.stop()
    // The next worker cannot read the command either.
    let second = try await bench.started()
    #expect(try await bench.store.commands(after: 0, limit: 9).map(\.number) == [1, 2])
    #expect(second.worker.isIdle)
    await second.stop()
    // Without the unreadable command, the next worker reads the later ones.
    try await bench.write { $0.takenCommands = [1...1] }
    let third = try await bench.started()
    #expect(try await bench.outcomes(held)[0].error == nil)
    #expect(try await bench.store.commands(after: 0, limit: 9).isEmpty)
    await third.stop()
  }

  /// The progress is unknown. Starting again might send the POST twice.
  @Test func `unreadable work is kept and its task waits`() async throws {
    let bench = try WorkerBench()
    let session = try await bench.session()
    let task = try await bench.task(origin.url, in: session, method: "POST")
    let newer = QueueDocumentCoding.encode(WorkState()).replacingOccurrences(
      of: #""v":1"#, with: #""v":2"#)
    let rows = [StoredWork(task: task.id, session: session.id, document: newer)]
    try await bench.write { $0.work = rows }
    let process = try await bench.started()
    try await bench.send([.submit(task.id), .task(task.id, .resume)], of: session, to: process)
    #expect(try await bench.store.work() == rows)
    #expect(try await bench.store.commands(after: 0, limit: 9).count == 2)
    #expect(try await bench.news().contains { if case .refused(3) = $0 { true } else { false } })
    #expect(origin.requests.isEmpty && process.worker.isIdle)
    await process.stop()
  }
}
