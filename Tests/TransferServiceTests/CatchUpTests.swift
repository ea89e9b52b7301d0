import Foundation
import Ledger
import SQLiteLedger
import TestSupport
import Testing
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// What a service that starts finds of background tasks, and when.
@Suite(.endsInTime) struct CatchUpTests {
  private static func outcome(of task: TransferTask) -> TransferOutcome {
    TransferOutcome(
      error: nil, currentRequest: task.currentRequest, response: nil, progress: task.progress,
      transactions: [], endedAt: ServiceBench.start)
  }

  @Test func nobodyWaitsForNewsAtTheStart() async throws {
    let bench = try ServiceBench()
    let task = try await bench.task(1)
    try await bench.write { change in
      for _ in 0..<1000 { change.tell(.fact(.began(task.id, at: ServiceBench.start))) }
      change.tell(.fact(.ended(task.id, Self.outcome(of: task))))
    }
    #expect(try await bench.service.recover() == 0)
    // A ring is no reason to read them before it is known what they are about.
    bench.service.lookForNews()
    #expect(try await bench.store.news(after: 0, limit: 2000).count == 1001)
    #expect(try await bench.service.tasks.task(task.id).state == .running)
    try await bench.service.catchUp()
    #expect(try await bench.store.news(after: 0, limit: 1).isEmpty)
    #expect(try await bench.service.tasks.task(task.id).state == .completed)
    #expect(try await bench.submitted() == [])
    await bench.stop()
  }

  /// Whoever writes meanwhile waits for a page of them, and not for all.
  @Test func newsArePassedByWhatClientsWrite() async throws {
    let bench = try ServiceBench()
    let task = try await bench.task(1)
    let count = 20 * NewsReader.page
    try await bench.write { change in
      for _ in 0..<count { change.tell(.fact(.began(task.id, at: ServiceBench.start))) }
    }
    _ = try await bench.service.recover()
    async let caughtUp: Void = bench.service.catchUp()
    var left = [count]
    while let last = left.last, last > 0 {
      try await bench.write { $0.lastIdentifiers = [ServiceBench.session.id: 7] }
      let first = try await bench.store.news(after: 0, limit: 1).first?.number
      left.append(first.map { count - Int($0) + 1 } ?? 0)
    }
    try await caughtUp
    // A page each, and what is written between a write and the look after it.
    #expect(left.count > 5, "\(left)")
    await bench.stop()
  }

  @Test func whatWasNotHandedOverIsHandedOverOnce() async throws {
    let bench = try ServiceBench()
    let (nowhere, waiting) = (try await bench.task(1), try await bench.task(2))
    let (there, ended) = (try await bench.task(3), try await bench.task(4))
    let cancelled = try await bench.task(5) { _ = $0.lifecycle.cancel() }
    let suspended = try await bench.task(6) { _ = $0.lifecycle.suspend() }
    try await bench.write { change in
      change.commands = [BackgroundCommand.submit(waiting.id).stored(for: ServiceBench.session.id)]
      change.work = [
        StoredWork(
          task: there.id, session: ServiceBench.session.id, document: WorkerDocument.encode(WorkState()))
      ]
      change.tell(.fact(.ended(ended.id, Self.outcome(of: ended))))
    }
    _ = try await bench.service.recover()
    // Nobody knows yet which of them the worker has: a client that resumes one does not start it once more.
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

  /// A process that died between a task's row and its commands.
  @Test func whatTheWorkerWasNotToldIsToldAgain() async throws {
    let bench = try ServiceBench()
    let suspended = try await bench.task(1) { _ = $0.lifecycle.suspend() }
    try await bench.write { change in
      change.work = [
        StoredWork(
          task: suspended.id, session: ServiceBench.session.id, document: WorkerDocument.encode(WorkState()))
      ]
    }
    _ = try await bench.service.recover()
    try await bench.service.catchUp()
    await bench.written()
    let commands = try await bench.store.commands(after: 0, limit: 10).map {
      try WorkerDocument.decode(BackgroundCommand.self, $0.content.document)
    }
    #expect(commands.count == 1)
    guard case .task(suspended.id, .suspend)? = commands.first else {
      Issue.record("\(commands)")
      return
    }
    await bench.stop()
  }

  /// What cannot be read may be its end: to hand it over again might send it twice.
  @Test func aTaskWhoseNewsCannotBeReadIsNotHandedOver() async throws {
    let bench = try ServiceBench()
    let (held, other) = (try await bench.task(2), try await bench.task(3))
    let unknown = WorkerDocument.encode(
      WorkerNews.fact(
        .retries(held.id, count: 1, at: ServiceBench.start, wait: WorkerSamples.retryWait))
    )
    .replacingOccurrences(of: #""retries""#, with: #""retriesOtherwise""#)
    try await bench.write { $0.news = [unknown] }
    _ = try await bench.service.recover()
    try await bench.service.catchUp()
    #expect(try await bench.submitted() == [other.id])
    #expect(bench.service.refusedDocuments == 1)
    #expect(try await bench.store.news(after: 0, limit: 9).map(\.content) == [unknown])
    await bench.stop()
  }
}
